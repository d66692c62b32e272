import { hash, randomBytes } from 'node:crypto'
import { collectGarbage } from '../../gateway/limits/overload/heap-use.ts'
import { TokenCache } from '../../gateway/tokens/cache/token-cache.ts'
import type { IntrospectionResult } from '../../gateway/tokens/cache/token-status.ts'
import { createTokenValidator } from '../../gateway/tokens/cache/token-validator.ts'
import { readIntrospection } from '../../gateway/tokens/introspection/read-introspection.ts'
import type { Issuer } from '../../gateway/tokens/issuer.ts'
import { createScopeSets } from '../../policy-engine/decide/scope-check.ts'

/** The measured heap size of a cached token, and the estimate of the token cache. */
export type CachedTokenSize = { readonly heapBytes: number; readonly estimatedBytes: number }

const ISSUER = 'http://api.example'
const NAMES = [ISSUER]
const DAY_SECONDS = 86_400

/**
 * Fills a token cache of the gateway in this process, and measures the heap size of each token. The tokens are opaque.
 * The introspection results have the format of the bundled authorization server.
 */
export async function measureCachedTokens(tokens: number): Promise<CachedTokenSize> {
  const cache = new TokenCache({
    maxEntries: tokens,
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxTtlMs: DAY_SECONDS * 1_000,
    negativeTtlMs: 5_000,
  })
  const tokenValidator = createTokenValidator({
    issuers: [anIssuer()],
    cache,
    nowMs: Date.now,
    tickMs: () => performance.now(),
    after: () => () => undefined,
    observe: { hit() {}, miss() {} },
  })
  const validate = () => tokenValidator.validate(randomBytes(32).toString('base64url'), NAMES)
  await validate() // allocates objects that all tokens share
  const before = readLiveHeap()
  for (let token = 1; token < tokens; token++) await validate()
  const heapBytes = (readLiveHeap() - before) / (tokens - 1)
  return { heapBytes, estimatedBytes: cache.bytes / cache.size }
}

/** Returns the heap size after a full garbage collection. Bytes. */
function readLiveHeap(): number {
  collectGarbage() // completes a running collection, because it would keep objects that became garbage after its start
  collectGarbage()
  return process.memoryUsage().heapUsed
}

/**
 * The introspection results have the format of the bundled authorization server. Each token has different claim values.
 */
function anIssuer(): Issuer {
  const scopes = createScopeSets()
  return {
    issuer: ISSUER,
    id: hash('sha256', ISSUER, 'base64url'),
    verify: undefined,
    introspect: async (token) => answerOf(token, scopes),
    ready: true,
    close: async () => undefined,
  }
}

function answerOf(token: string, scopes: ReturnType<typeof createScopeSets>): IntrospectionResult {
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
  const status = readIntrospection(JSON.parse(response), { issuer: ISSUER, nowSeconds, scopes })
  return { status, ageMs: 0, ttlMs: DAY_SECONDS * 1_000 }
}
