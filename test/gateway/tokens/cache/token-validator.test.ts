import t from 'tap'
import { TokenCache } from '../../../../gateway/tokens/cache/token-cache.ts'
import type { IntrospectionResult, TokenStatus } from '../../../../gateway/tokens/cache/token-status.ts'
import { createTokenValidator } from '../../../../gateway/tokens/cache/token-validator.ts'
import { revocationName } from '../../../../platform/revocation-name.ts'
import type { ClaimSelection } from '../../../../policy-engine/decide/named-claims.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aRevocation } from '../../../fixtures/a-revocation.ts'

const GOOD = { active: true, caller: aCaller({ expiresAtSeconds: 100 }) } as const satisfies TokenStatus
const BAD: TokenStatus = { active: false, fault: { reason: 'inactive' } }

/** The test controls the clock and the introspection results. */
function setUp(options: { maxEntries?: number; capMs?: (issuer: string) => number } = {}) {
  const clock = { ms: 0, wallMs: 0 }
  const questions: {
    token: string
    sinceGapMs: number
    answer: (status: TokenStatus, ttlMs?: number, ageMs?: number) => void
    fail: (error: Error) => void
  }[] = []
  const cache = new TokenCache({
    maxEntries: options.maxEntries ?? 100,
    maxBytes: 1024 * 1024,
    maxTtlMs: 30_000,
    negativeTtlMs: 5_000,
    ...(options.capMs === undefined ? {} : { capMs: options.capMs }),
  })
  const { validate, revoke, expire } = createTokenValidator({
    issuers: [
      {
        issuer: 'https://issuer.test',
        id: 'issuer',
        verify: undefined,
        introspect: (token, sinceGapMs) =>
          new Promise<IntrospectionResult>((resolve, fail) => {
            const answer = (status: TokenStatus, ttlMs = Infinity, ageMs = 0) =>
              resolve({ status, ageMs, ttlMs })
            questions.push({ token, sinceGapMs, answer, fail })
          }),
        ready: true,
        close: async () => undefined,
      },
    ],
    cache,
    nowMs: () => clock.wallMs + clock.ms,
    tickMs: () => clock.ms,
    after: () => () => undefined,
    observe: { hit() {}, miss() {} },
  })
  const issuers = ['https://issuer.test']
  const ask = (token: string, wanted?: ClaimSelection) => validate(token, issuers, wanted)
  const tokenValidator = { validate: (token: string) => ask(token), revoke, expire }
  const question = (index: number) => {
    const found = questions[index]
    if (found === undefined) throw new Error(`introspection ${index} is missing`)
    return found
  }
  /** Completes the introspection with this index, and returns the result of `pending`. */
  const settle = (pending: TokenStatus | Promise<TokenStatus>, index: number, status: TokenStatus) => {
    question(index).answer(status)
    return pending
  }
  return { clock, questions, question, settle, cache, ask, tokenValidator }
}

t.test('the validator rejects a token that was revoked during its introspection', async (t) => {
  const { settle, tokenValidator } = setUp()
  const pending = tokenValidator.validate('a')
  tokenValidator.revoke(aRevocation({ grant: 'grant-1' }), GOOD.caller.issuer)
  t.match(await settle(pending, 0, GOOD), BAD)
  t.ok(tokenValidator.validate('a') instanceof Promise, 'no status was cached')
})

t.test(
  'the validator caches an introspection result when another grant was revoked during the introspection',
  async (t) => {
    const { settle, tokenValidator } = setUp()
    const pending = tokenValidator.validate('a')
    tokenValidator.revoke(aRevocation({ grant: 'grant-2' }), GOOD.caller.issuer)
    t.equal(await settle(pending, 0, GOOD), GOOD)
    t.equal(tokenValidator.validate('a'), GOOD)
  },
)

t.test('the validator caches no introspection that started before a revocation gap', async (t) => {
  const { questions, settle, tokenValidator } = setUp()
  const before = tokenValidator.validate('a')
  tokenValidator.expire()
  const after = tokenValidator.validate('a')
  t.equal(questions.length, 2, 'an introspection from before is not shared')
  t.equal(await settle(before, 0, GOOD), GOOD)
  t.ok(tokenValidator.validate('a') instanceof Promise)
  t.equal(await settle(after, 1, GOOD), GOOD)
  t.equal(tokenValidator.validate('a'), GOOD)
})

t.test('revoke() evicts every token of the grant, and no other token', async (t) => {
  const { question, cache, tokenValidator } = setUp()
  const other: TokenStatus = { active: true, caller: aCaller({ grant: 'grant-2', expiresAtSeconds: 100 }) }
  await Promise.all(
    [GOOD, GOOD, other].map((status, i) => {
      const pending = tokenValidator.validate(`token-${i}`)
      question(i).answer(status)
      return pending
    }),
  )
  t.equal(cache.size, 3)
  tokenValidator.revoke(aRevocation({ grant: 'grant-1' }), GOOD.caller.issuer)
  t.equal(cache.size, 1)
  t.equal(tokenValidator.validate('token-2'), other)
})

t.test('the validator sends one introspection for a thousand concurrent uses', async (t) => {
  const { questions, question, tokenValidator } = setUp()
  const all = Array.from({ length: 1_000 }, () => tokenValidator.validate('a'))
  t.equal(questions.length, 1)
  question(0).answer(GOOD)
  t.same(new Set(await Promise.all(all)), new Set([GOOD]))
})

t.test('the validator does not cache failures', async (t) => {
  const { question, settle, tokenValidator } = setUp()
  const pending = tokenValidator.validate('a')
  question(0).fail(new Error('away'))
  await t.rejects(Promise.resolve(pending), { message: 'away' })
  const again = tokenValidator.validate('a')
  t.equal(await settle(again, 1, GOOD), GOOD)
})

t.test(
  'the validator caches an active status for its TTL, and never longer than the token is valid',
  async (t) => {
    const { clock, settle, tokenValidator } = setUp()
    await settle(tokenValidator.validate('a'), 0, GOOD)
    clock.ms = 29_999
    t.equal(tokenValidator.validate('a'), GOOD)
    clock.ms = 30_000
    const again = tokenValidator.validate('a')
    t.ok(again instanceof Promise)
    clock.ms = 59_999
    await settle(again, 1, GOOD)
    t.equal(tokenValidator.validate('a'), GOOD)
    clock.ms = 60_000
    t.ok(tokenValidator.validate('a') instanceof Promise, 'the TTL starts with the introspection')
    clock.ms = 90_000
    await settle(tokenValidator.validate('b'), 3, GOOD)
    clock.ms = 99_999
    t.equal(tokenValidator.validate('b'), GOOD)
    clock.ms = 100_000
    t.ok(tokenValidator.validate('b') instanceof Promise)
  },
)

t.test('the validator caches a status no longer than its issuer allows', async (t) => {
  const { clock, question, tokenValidator } = setUp()
  const pending = tokenValidator.validate('a')
  question(0).answer(GOOD, 1_000)
  await pending
  clock.ms = 999
  t.equal(tokenValidator.validate('a'), GOOD)
  clock.ms = 1_000
  t.ok(tokenValidator.validate('a') instanceof Promise)
})

t.test('the validator subtracts the age of a status from another gateway', async (t) => {
  const { clock, question, tokenValidator } = setUp()
  for (const [token, ttlMs] of [
    ['a', Infinity],
    ['b', 25_000],
  ] as const) {
    const pending = tokenValidator.validate(token)
    question(token === 'a' ? 0 : 1).answer(GOOD, ttlMs, 20_000)
    await pending
  }
  clock.ms = 4_999
  for (const token of ['a', 'b']) t.equal(tokenValidator.validate(token), GOOD)
  clock.ms = 5_000
  t.ok(tokenValidator.validate('b') instanceof Promise, 'the issuer set 25 s, and 20 s had passed')
  clock.ms = 10_000
  t.ok(tokenValidator.validate('a') instanceof Promise)
})

t.test('the validator passes the time since the last revocation gap to the introspection', async (t) => {
  const { clock, question, tokenValidator } = setUp()
  clock.ms = 1_000
  void tokenValidator.validate('a')
  tokenValidator.expire()
  clock.ms = 1_700
  void tokenValidator.validate('a')
  t.same([question(0).sinceGapMs, question(1).sinceGapMs], [Infinity, 700])
})

t.test('the validator keeps a status for its TTL when the wall clock jumps', async (t) => {
  for (const jumpMs of [3_600_000, -3_600_000]) {
    const { clock, settle, tokenValidator } = setUp()
    clock.wallMs = 1_800_000_000_000
    const good: TokenStatus = { active: true, caller: aCaller({ expiresAtSeconds: 1_800_000_900 }) }
    await settle(tokenValidator.validate('a'), 0, good)
    clock.wallMs += jumpMs
    clock.ms = 29_999
    t.equal(tokenValidator.validate('a'), good, 'the caller of the validator checks the expiry')
    clock.ms = 30_000
    t.ok(tokenValidator.validate('a') instanceof Promise)
  }
})

t.test('the validator caches an inactive status for seconds only', async (t) => {
  const { clock, settle, tokenValidator } = setUp()
  await settle(tokenValidator.validate('a'), 0, BAD)
  clock.ms = 4_999
  t.equal(tokenValidator.validate('a'), BAD)
  clock.ms = 5_000
  t.ok(tokenValidator.validate('a') instanceof Promise)
})

t.test('inactive tokens do not evict active tokens, and both caches are bounded', async (t) => {
  const { cache } = setUp({ maxEntries: 10 })
  const put = (key: string, status: TokenStatus) =>
    cache.set(key, { status, ageMs: 0, ttlMs: Infinity }, { tickMs: 0, nowMs: 0, kind: 'opaque' })
  put('good', GOOD)
  for (let i = 0; i < 100; i++) put(`junk-${i}`, BAD)
  t.equal(cache.get('good', 1), GOOD)
  t.equal(cache.size, 11)
  for (let i = 0; i < 100; i++) put(`good-${i}`, GOOD)
  t.equal(cache.size, 20)
  t.same(cache.entries, { jwt: 0, opaque: 20 })
  cache.dropGrant('grant-1')
  t.equal(cache.size, 10)
  t.same(cache.entries, { jwt: 0, opaque: 10 })
  cache.clear()
  t.same(cache.entries, { jwt: 0, opaque: 0 })
})

t.test('the cache is bounded by the size of the claims', async (t) => {
  const cache = new TokenCache({
    maxEntries: 1_000,
    maxBytes: 100_000,
    maxTtlMs: 1_000,
    negativeTtlMs: 1_000,
  })
  for (let i = 0; i < 1_000; i++) {
    const caller = aCaller({ grant: `grant-${i}`, identityHeaders: ['x-auth-subject', 'x'.repeat(1_000)] })
    cache.set(
      `key-${i}`,
      { status: { active: true, caller }, ageMs: 0, ttlMs: Infinity },
      { tickMs: 0, nowMs: 0, kind: 'opaque' },
    )
  }
  t.ok(cache.size > 10 && cache.size < 100, `${cache.size} entries`)
  t.ok(cache.bytes <= 100_000)
  t.ok(cache.get('key-999', 1))
})

t.test(
  'the validator rejects a revoked token ID, both with a cached and with a new introspection result',
  async (t) => {
    const { questions, settle, tokenValidator } = setUp()
    const status = { active: true, caller: aCaller({ grant: undefined, tokenId: 'id-1' }) } as const
    await settle(tokenValidator.validate('a'), 0, status)
    tokenValidator.revoke(aRevocation({ token: 'id-2' }), status.caller.issuer)
    t.equal(tokenValidator.validate('a'), status)
    tokenValidator.revoke(aRevocation({ token: 'id-1' }), 'https://another.test')
    t.equal(tokenValidator.validate('a'), status, 'another issuer revokes nothing')
    tokenValidator.revoke(aRevocation({ token: 'id-1' }), status.caller.issuer)
    t.match(tokenValidator.validate('a'), BAD)
    tokenValidator.expire()
    t.match(await settle(tokenValidator.validate('a'), 1, status), BAD, 'a valid signature changes nothing')
    t.equal(questions.length, 2)
  },
)

t.test(
  'after the revocation of a subject, the validator rejects old tokens and accepts tokens from a new sign-in',
  async (t) => {
    const { clock, settle, tokenValidator } = setUp()
    const issued = (issuedAtSeconds: number | undefined) =>
      ({ active: true, caller: aCaller({ grant: undefined, issuedAtSeconds }) }) as const
    await settle(tokenValidator.validate('before'), 0, issued(10))
    await settle(tokenValidator.validate('undated'), 1, issued(undefined))
    clock.ms = 20_000
    const subject = revocationName('https://api.test', 'user-1')
    tokenValidator.revoke(aRevocation({ issuer: 'https://api.test', subject, atSeconds: 20 }))
    t.match(tokenValidator.validate('before'), BAD)
    t.match(tokenValidator.validate('undated'), BAD)
    t.match(await settle(tokenValidator.validate('at once'), 2, issued(20)), BAD)
    const later = issued(21)
    t.equal(await settle(tokenValidator.validate('later'), 3, later), later)
  },
)

t.test('the validator compares the age of a cached status with the current limit', async (t) => {
  const cap = { ms: 30_000 }
  const { clock, settle, tokenValidator } = setUp({ capMs: () => cap.ms })
  await settle(tokenValidator.validate('a'), 0, GOOD)
  clock.ms = 4_999
  cap.ms = 5_000
  t.equal(tokenValidator.validate('a'), GOOD)
  clock.ms = 5_000
  t.ok(tokenValidator.validate('a') instanceof Promise, 'cached under a higher limit')
})

t.test('the validator rejects a cached status that lacks a claim of the route', async (t) => {
  const { ask, settle } = setUp()
  const names = ['plan', 'tenant']
  const known = (claims: readonly (readonly [string, string])[]): TokenStatus => ({
    active: true,
    caller: aCaller({ expiresAtSeconds: 100, claims: new Map(claims) }),
  })
  await settle(ask('a'), 0, GOOD)
  t.equal(ask('a', { needed: [], names }), GOOD, 'a route without conditions causes no introspection')
  const [one, two] = [ask('a', { needed: ['tenant'], names }), ask('a', { needed: ['plan'], names })]
  t.equal(one, two, 'concurrent uses share the introspection')
  const full = known([
    ['plan', 'gold'],
    ['tenant', 't1'],
  ])
  t.equal(await settle(one, 1, full), full)
  t.equal(ask('a', { needed: ['tenant'], names }), full)
  t.equal(ask('a'), full)
  const other = ask('a', { needed: ['role'], names: ['role'] })
  const before = ask('a', { needed: ['role', 'plan'], names: ['plan', 'role'] })
  t.ok(
    other instanceof Promise && before instanceof Promise && other !== before,
    'each policy set introspects separately',
  )
})

t.test('a stale status does not replace the rejection of a concurrent check', async (t) => {
  const { question, ask, cache } = setUp()
  const selection = (name: string): ClaimSelection => ({ needed: [name], names: [name] })
  const rejected = ask('a', selection('plan'))
  const failed = ask('a', selection('team'))
  question(0).answer(BAD)
  t.match(await rejected, BAD)
  question(1).answer({ ...GOOD, isStale: true })
  t.match(await failed, BAD)
  t.match(ask('a'), BAD, 'the rejection stays in the cache')
  t.equal(cache.size, 1)
})
