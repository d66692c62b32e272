// npm run soak:tokens: what remembering tokens costs, in this process alone: heap for each of 100,000, questions for a herd
// of 1,000. Prints each number beside its bar; exit code 1 when one is not held.
import { hash, randomBytes } from 'node:crypto'
import type { Answer } from '../../gateway/identity/answer.ts'
import type { Issuer } from '../../gateway/identity/issuer.ts'
import { readIntrospection } from '../../gateway/identity/read-introspection.ts'
import { createScopeSets } from '../../gateway/identity/scope-sets.ts'
import { createTokenVerdicts } from '../../gateway/identity/token-verdicts.ts'
import { VerdictCache } from '../../gateway/identity/verdict-cache.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { runSoak } from './run-soak.ts'

const ISSUER = 'http://api.example'
const NAMES = [ISSUER]
const TOKENS = 100_000
const HERD = 1_000
const BAR_BYTES = 1_024
const DAY_SECONDS = 86_400

/** Says of each token what the bundled authorization server would: claims of its own, in texts of their own. */
function answerOf(token: string, scopes: ReturnType<typeof createScopeSets>): Answer {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const response = JSON.stringify({
    active: true,
    iss: ISSUER,
    aud: ISSUER,
    sub: `user-${token.slice(0, 8)}`,
    client_id: randomBytes(12).toString('hex'),
    scope: 'courses:read courses:write students:read',
    token_type: 'Bearer',
    iat: nowSeconds,
    exp: nowSeconds + DAY_SECONDS,
    jti: token.slice(0, 21),
    grant: hash('sha256', token, 'base64url'),
  })
  const verdict = readIntrospection(JSON.parse(response), { issuer: ISSUER, nowSeconds, scopes })
  return { verdict, ageMs: 0, ttlMs: DAY_SECONDS * 1_000 }
}

await runSoak(async (): Promise<readonly Measurement[]> => {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('this needs node --expose-gc')
  const cache = new VerdictCache({
    maxEntries: TOKENS,
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxTtlMs: DAY_SECONDS * 1_000,
    negativeTtlMs: 5_000,
  })
  const scopes = createScopeSets()
  let questions = 0
  const issuer: Issuer = {
    issuer: ISSUER,
    id: hash('sha256', ISSUER, 'base64url'),
    verify: undefined,
    async introspect(token) {
      questions += 1
      return answerOf(token, scopes)
    },
    ready: true,
    close: async () => undefined,
  }
  const verdicts = createTokenVerdicts({
    issuers: [issuer],
    cache,
    nowMs: Date.now,
    tickMs: () => performance.now(),
    observe: { hit() {}, miss() {} },
  })
  await Promise.all(Array.from({ length: HERD }, () => verdicts.verdictOf('herd', NAMES)))
  const herd = questions

  gc()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < TOKENS; i++) await verdicts.verdictOf(randomBytes(32).toString('base64url'), NAMES)
  gc()
  const perToken = (process.memoryUsage().heapUsed - before) / TOKENS
  return [
    measuredCount(`${HERD} uses of one new token at once: questions to the issuer`, herd, 1),
    {
      what: `${cache.size} cached tokens: heap of each`,
      measured: `${perToken.toFixed(0)} B`,
      bar: `<= ${BAR_BYTES} B`,
      held: perToken <= BAR_BYTES,
    },
    {
      what: 'the same as the cache estimates it',
      measured: `${(cache.bytes / cache.size).toFixed(0)} B`,
      bar: 'none',
      held: undefined,
    },
  ]
})
