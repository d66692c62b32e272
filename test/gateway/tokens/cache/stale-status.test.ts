import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { TokenCache } from '../../../../gateway/tokens/cache/token-cache.ts'
import { createTokenValidator } from '../../../../gateway/tokens/cache/token-validator.ts'
import {
  createIntrospector,
  type IntrospectionOptions,
} from '../../../../gateway/tokens/introspection/introspect.ts'
import type { Issuer } from '../../../../gateway/tokens/issuer.ts'
import { revocationName } from '../../../../platform/revocation-name.ts'
import type { ClaimSelection } from '../../../../policy-engine/decide/named-claims.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { aClock, type TestClock } from '../../../fixtures/a-clock.ts'
import { aRevocation } from '../../../fixtures/a-revocation.ts'
import { startIssuer, type TestIssuer } from '../../../fixtures/an-issuer.ts'
import { introspectionOptions } from '../../../fixtures/introspection-options.ts'
import { until } from '../../../fixtures/until.ts'

const MAX_TTL_MS = 30_000
const STALE_MS = 60_000
const PATIENCE_MS = 500
const STALE = { active: true, isStale: true }
const INACTIVE = { active: false, fault: { reason: 'inactive' } }

type Options = Partial<IntrospectionOptions> & { readonly capMs?: () => number }

/**
 * Starts an issuer with the URL `name`, and an introspection client for the issuer. Counts the introspections and the
 * uses of an earlier status.
 */
async function anIssuer(t: Test, clock: TestClock, name: string, change: Options = {}) {
  const server = await startIssuer({ issuer: name, audience: 'https://api.test' })
  let uses = 0
  let checks = 0
  const introspector = createIntrospector(
    introspectionOptions({
      issuer: name,
      endpoint: server.endpoint,
      clientId: server.clientId,
      clientSecret: server.clientSecret,
      staleIfErrorMs: STALE_MS,
      tickMs: clock.tickMs,
      nowMs: clock.nowMs,
      ...change,
    }),
  )
  t.teardown(async () => {
    await introspector.close()
    await server.close()
  })
  const issuer: Issuer = {
    issuer: name,
    id: name,
    verify: undefined,
    introspect(...how) {
      checks += 1
      return introspector.introspect(...how)
    },
    stale: { patienceMs: PATIENCE_MS, used: () => (uses += 1) },
    ready: true,
    close: async () => undefined,
  }
  return { server, issuer, uses: () => uses, checks: () => checks }
}

/** The token expires `lifetimeSeconds` after the time of the test clock. */
function store(server: TestIssuer, clock: TestClock, token: string, claims = {}, lifetimeSeconds = 900) {
  const iat = Math.floor(clock.nowMs() / 1_000)
  return server.store(token, { iat, exp: iat + lifetimeSeconds, ...claims })
}

function aValidator(issuers: readonly Issuer[], clock: TestClock, capMs?: () => number) {
  const cache = new TokenCache({
    maxEntries: 10_000,
    maxBytes: 1024 * 1024,
    maxTtlMs: MAX_TTL_MS,
    negativeTtlMs: 5_000,
    ...(capMs === undefined ? {} : { capMs }),
  })
  const validator = createTokenValidator({ ...clock, issuers, cache, observe: { hit() {}, miss() {} } })
  const names = issuers.map(({ issuer }) => issuer)
  const validate = async (token: string, wanted?: ClaimSelection) => validator.validate(token, names, wanted)
  return { ...validator, validate, cache }
}

/** Creates a validator with one issuer. The issuer has already reported the token `known` as active. */
async function setUp(t: Test, change: Options = {}, claims = {}, lifetimeSeconds = 900) {
  const clock = aClock()
  const { server, issuer, uses, checks } = await anIssuer(t, clock, 'https://a.test', change)
  const validator = aValidator([issuer], clock, change.capMs)
  store(server, clock, 'known', claims, lifetimeSeconds)
  t.match(await validator.validate('known'), { active: true, isStale: undefined })
  return { clock, server, uses, checks, ...validator }
}

const respond =
  (status: number, body = '{}') =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }
const hangUp = (response: ServerResponse): void => void response.destroy()

t.test('a known token is accepted until its cache time and staleIfError have passed', async (t) => {
  const { clock, server, uses, validate } = await setUp(t)
  server.answerWith(respond(503))
  await clock.advance(MAX_TTL_MS - 1)
  t.match(await validate('known'), { active: true, isStale: undefined }, 'within the cache time')
  await clock.advance(1)
  t.match(await validate('known'), STALE)
  await clock.advance(STALE_MS - 1)
  t.match(await validate('known'), STALE)
  t.equal(uses(), 2)
  await clock.advance(1)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS', status: 503 })
  await t.rejects(validate('other'), { code: 'ERR_INTROSPECTION_STATUS' }, 'an unknown token')
  server.answerWith(undefined)
  t.match(await validate('known'), { active: true, isStale: undefined })
})

t.test('the bound starts at the last check, for every limit of the cache time', async (t) => {
  const { clock, server, validate } = await setUp(t, { capMs: () => 4_500 })
  server.answerWith(respond(503))
  await clock.advance(4_499)
  t.match(await validate('known'), { isStale: undefined })
  await clock.advance(1)
  t.match(await validate('known'), STALE)
  await clock.advance(MAX_TTL_MS + STALE_MS - 4_501)
  t.match(await validate('known'), STALE)
  await clock.advance(1)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('introspection.ttl is the cache time of the bound', async (t) => {
  const { clock, server, validate } = await setUp(t, { ttlMs: 2_000 })
  server.answerWith(respond(503))
  await clock.advance(2_000 + STALE_MS - 1)
  t.match(await validate('known'), STALE)
  await clock.advance(1)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('with staleIfError 0s, a token without a current status is not accepted', async (t) => {
  const { clock, server, validate, expire, cache } = await setUp(t, { staleIfErrorMs: 0, capMs: () => 4_500 })
  server.answerWith(respond(503))
  await clock.advance(4_500)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
  server.answerWith(undefined)
  await validate('known')
  server.answerWith(respond(503))
  expire()
  t.equal(cache.size, 0)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('a known token is accepted for every kind of issuer failure', async (t) => {
  const outages = {
    'a closed connection': hangUp,
    'status 500': respond(500),
    'status 503': respond(503),
    'status 429': respond(429),
    'status 408': respond(408),
  }
  for (const [name, outage] of Object.entries(outages)) {
    const { clock, server, validate } = await setUp(t)
    server.answerWith(outage)
    await clock.advance(MAX_TTL_MS)
    for (let check = 0; check < 10; check++) {
      t.match(await validate('known'), STALE, `${name}, check ${check}: the circuit opens at check 5`)
      await clock.advance(1_000)
    }
  }
  const { clock, server, validate } = await setUp(t, { timeoutMs: 50 })
  server.answerWith(() => undefined)
  await clock.advance(MAX_TTL_MS)
  t.match(await validate('known'), STALE, 'a timeout')
})

t.test('a known token is not accepted when the issuer rejects the gateway or the request', async (t) => {
  const rejections = {
    'status 401': [respond(401), 'ERR_INTROSPECTION_CREDENTIALS'],
    'status 403': [respond(403), 'ERR_INTROSPECTION_CREDENTIALS'],
    invalid_client: [respond(400, '{"error":"invalid_client"}'), 'ERR_INTROSPECTION_CREDENTIALS'],
    'status 400': [respond(400, '{"error":"invalid_request"}'), 'ERR_INTROSPECTION_STATUS'],
    'status 404': [respond(404), 'ERR_INTROSPECTION_STATUS'],
    'status 302': [respond(302), 'ERR_INTROSPECTION_STATUS'],
    'no JSON': [respond(200, '<p>'), 'ERR_INTROSPECTION_RESPONSE'],
    'no active': [respond(200, '{}'), 'ERR_INTROSPECTION_RESPONSE'],
  } as const
  for (const [name, [rejection, code]] of Object.entries(rejections)) {
    const { clock, server, validate, uses } = await setUp(t)
    server.answerWith(rejection)
    await clock.advance(MAX_TTL_MS)
    await t.rejects(validate('known'), { code }, name)
    for (let check = 1; check < 10; check++) {
      await clock.advance(1)
      await t.rejects(validate('known'), { name: 'IntrospectionError' }, `${name}, check ${check}`)
    }
    t.equal(uses(), 0, name)
  }
})

t.test('a token that the issuer reports as inactive is not accepted in a later outage', async (t) => {
  const { clock, server, validate, expire } = await setUp(t)
  await clock.advance(MAX_TTL_MS)
  server.revoke('known')
  t.match(await validate('known'), INACTIVE)
  server.answerWith(respond(503))
  await clock.advance(5_000)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })

  server.answerWith(undefined)
  store(server, clock, 'other')
  await validate('other')
  await clock.advance(MAX_TTL_MS)
  server.revoke('other')
  const responses: ServerResponse[] = []
  server.answerWith((response) => responses.push(response))
  const pending = validate('other')
  await until('the issuer has the request', async () => responses.length === 1)
  expire()
  for (const response of responses) respond(200, '{"active":false}')(response)
  t.match(await pending, INACTIVE)
  server.answerWith(respond(503))
  await t.rejects(
    validate('other'),
    { code: 'ERR_INTROSPECTION_STATUS' },
    'the response is from before the gap',
  )
})

t.test('a known token is not accepted past its expiry', async (t) => {
  const { clock, server, validate } = await setUp(t, {}, {}, 40)
  server.answerWith(respond(503))
  await clock.advance(39_999)
  t.match(await validate('known'), STALE)
  await clock.advance(1)
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('a known token is not accepted past its expiry by the wall clock', async (t) => {
  const { clock, server, expire, cache } = await setUp(t)
  server.answerWith(respond(503))
  expire()
  const ahead = aValidatorAhead(clock, cache, server, 901_000)
  await t.rejects(ahead('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

/**
 * Creates another validator for an existing cache. The wall clock of the validator is `aheadMs` ahead of the test
 * clock.
 */
function aValidatorAhead(clock: TestClock, cache: TokenCache, server: TestIssuer, aheadMs: number) {
  const introspector = createIntrospector(
    introspectionOptions({ issuer: 'https://a.test', endpoint: server.endpoint, tickMs: clock.tickMs }),
  )
  const issuer: Issuer = {
    issuer: 'https://a.test',
    id: 'https://a.test',
    verify: undefined,
    introspect: introspector.introspect,
    stale: undefined,
    ready: true,
    close: introspector.close,
  }
  const { validate } = createTokenValidator({
    ...clock,
    nowMs: () => clock.nowMs() + aheadMs,
    issuers: [issuer],
    cache,
    observe: { hit() {}, miss() {} },
  })
  return async (token: string) => {
    try {
      return await validate(token, ['https://a.test'])
    } finally {
      await introspector.close()
    }
  }
}

t.test('a known token is not accepted after a revocation that this process received', async (t) => {
  const issuer = 'https://a.test'
  const revocations = {
    grant: aRevocation({ grant: 'grant-1' }),
    token: aRevocation({ token: 'id-1' }),
    subject: aRevocation({ subject: revocationName(issuer, 'user-1'), atSeconds: 2_000_000_000 }),
  }
  for (const [name, revocation] of Object.entries(revocations)) {
    const { clock, server, validate, revoke, isRevoked } = await setUp(
      t,
      {},
      { grant: 'grant-1', jti: 'id-1' },
    )
    const status = await validate('known')
    const tokenId = status.active ? status.caller.tokenId : undefined
    server.answerWith(respond(503))
    await clock.advance(MAX_TTL_MS)
    t.match(await validate('known'), STALE, name)
    revoke(name === 'token' ? { ...revocation, token: tokenId } : revocation, issuer)
    for (let second = 0; second < 3; second++) {
      const result = await validate('known').catch((error) => error)
      t.ok(result.code === 'ERR_INTROSPECTION_STATUS' || result.active === false, `${name}, ${second} s`)
      await clock.advance(1_000)
    }
    t.ok(status.active && isRevoked(status.caller))
  }
})

t.test('a known token is not accepted if its revocation arrives during the check', async (t) => {
  const { clock, server, validate, revoke } = await setUp(t, {}, { grant: 'grant-1' })
  await clock.advance(MAX_TTL_MS)
  const responses: ServerResponse[] = []
  server.answerWith((response) => responses.push(response))
  const pending = validate('known')
  await until('the issuer has the request', async () => responses.length === 1)
  revoke(aRevocation({ grant: 'grant-1' }), 'https://a.test')
  for (const response of responses) respond(503)(response)
  await t.rejects(pending, { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('the validator uses no earlier status after the eviction of a revocation', async (t) => {
  const { server, validate, revoke } = await setUp(t, {}, { jti: 'id-1' })
  const status = await validate('known')
  revoke(aRevocation({ token: status.active ? status.caller.tokenId : undefined }), 'https://a.test')
  for (let other = 0; other < 100_000; other++)
    revoke(aRevocation({ token: `id of ${other}` }), 'https://a.test')
  server.answerWith(respond(503))
  await t.rejects(validate('known'), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test(
  'after a revocation gap, a known token is checked again, and is accepted if the check fails',
  async (t) => {
    const { server, validate, expire, cache, uses, checks } = await setUp(t)
    expire()
    t.equal(cache.size, 1)
    t.match(await validate('known'), { active: true, isStale: undefined })
    t.equal(checks(), 2)
    expire()
    server.answerWith(respond(503))
    t.match(await validate('known'), STALE)
    t.match(await validate('known'), STALE)
    t.equal(checks(), 3, 'the second use causes no check')
    t.equal(uses(), 2)
  },
)

t.test('the validator checks a token again one second after a failed check', async (t) => {
  const { clock, server, validate, checks } = await setUp(t)
  await clock.advance(MAX_TTL_MS)
  server.answerWith(respond(503))
  await validate('known')
  t.equal(checks(), 2)
  server.answerWith(undefined)
  await clock.advance(999)
  t.match(await validate('known'), STALE)
  t.equal(checks(), 2)
  await clock.advance(1)
  t.match(await validate('known'), STALE, 'without a wait for the issuer, which did not respond')
  t.equal(checks(), 3)
  await until('the check ends', async () => !('isStale' in (await validate('known'))))
  t.equal(checks(), 3)
  await clock.advance(MAX_TTL_MS)
  t.match(await validate('known'), { active: true, isStale: undefined }, 'waits, because the issuer responds')
})

t.test(
  'an outdated status does not become current again when the limit of its issuer increases',
  async (t) => {
    const limits = { maxEntries: 1, maxBytes: 10_000, maxTtlMs: MAX_TTL_MS, negativeTtlMs: 0 }
    let capMs = 4_500
    const cache = new TokenCache({ ...limits, capMs: () => capMs })
    const status = { active: true, caller: aCaller({ expiresAtSeconds: 900 }) } as const
    const at = { tickMs: 0, nowMs: 0, kind: 'opaque' } as const
    cache.set('key', { status, ageMs: 0, ttlMs: Infinity, staleIfErrorMs: STALE_MS }, at)
    t.equal(cache.get('key', 4_500), undefined)
    capMs = MAX_TTL_MS
    t.equal(cache.get('key', 4_501), undefined)
    t.equal(cache.stale('key', 4_501)?.status, status)
  },
)

t.test('an earlier status is valid until its token expires by the monotonic clock', async (t) => {
  const cache = new TokenCache({ maxEntries: 1, maxBytes: 10_000, maxTtlMs: MAX_TTL_MS, negativeTtlMs: 0 })
  const status = { active: true, caller: aCaller({ expiresAtSeconds: 40 }) } as const
  const at = { tickMs: 0, nowMs: 0, kind: 'opaque' } as const
  cache.set('key', { status, ageMs: 0, ttlMs: Infinity, staleIfErrorMs: STALE_MS }, at)
  t.equal(cache.get('key', 39_999), undefined)
  t.equal(cache.stale('key', 39_999)?.status, status)
  t.equal(cache.stale('key', 40_000), undefined)
})

t.test('the validator does not use an earlier status that lacks a claim of the policies', async (t) => {
  const { clock, server, validate } = await setUp(t)
  await clock.advance(MAX_TTL_MS)
  server.answerWith(respond(503))
  await t.rejects(validate('known', { needed: ['plan'], names: ['plan'] }), {
    code: 'ERR_INTROSPECTION_STATUS',
  })
  t.match(await validate('known'), STALE)
})

t.test('the validator uses an earlier status only while the issuer of this status fails', async (t) => {
  const clock = aClock()
  const a = await anIssuer(t, clock, 'https://a.test')
  const b = await anIssuer(t, clock, 'https://b.test')
  for (const order of [
    [a, b],
    [b, a],
  ]) {
    const { validate } = aValidator(
      order.map(({ issuer }) => issuer),
      clock,
    )
    for (const { server } of order) server.answerWith(undefined)
    store(a.server, clock, 'known')
    t.match(await validate('known'), { active: true, caller: { issuer: 'https://a.test' } })
    await clock.advance(MAX_TTL_MS)
    a.server.answerWith(respond(503))
    t.match(await validate('known'), STALE)
    b.server.answerWith(respond(503))
    await clock.advance(1_000)
    t.match(await validate('known'), STALE)
    await clock.advance(1_000)
    a.server.revoke('known')
    a.server.answerWith(undefined)
    await until('the rejection of its issuer', async () => !(await validate('known')).active)
    t.match(await validate('known'), INACTIVE, 'the failure of another issuer has no effect')
  }
  const other = aValidator([b.issuer], clock)
  await t.rejects(other.validate('known'), { name: 'IntrospectionError' }, 'another resource')
})

t.test('another issuer that does not respond cannot cause the use of an earlier status', async (t) => {
  const clock = aClock()
  const a = await anIssuer(t, clock, 'https://a.test')
  const b = await anIssuer(t, clock, 'https://b.test')
  const { validate } = aValidator([a.issuer, b.issuer], clock)
  store(b.server, clock, 'known')
  t.match(await validate('known'), { active: true, caller: { issuer: 'https://b.test' } })
  await clock.advance(MAX_TTL_MS)
  const responses: ServerResponse[] = []
  a.server.answerWith((response) => responses.push(response))
  b.server.revoke('known')
  const pending = validate('known')
  await until('the second issuer has the request', async () => responses.length === 1)
  await clock.advance(PATIENCE_MS)
  for (const response of responses) respond(503)(response)
  t.match(await pending, INACTIVE)
  t.equal(b.uses(), 0)

  store(b.server, clock, 'valid')
  a.server.answerWith(undefined)
  await validate('valid')
  await clock.advance(MAX_TTL_MS)
  const before = a.server.asked.length
  t.match(await validate('valid'), { active: true, isStale: undefined })
  t.equal(a.server.asked.length, before, 'its issuer is asked first')
})

t.test('a frozen issuer delays only the first request with a known token', async (t) => {
  const { clock, server, validate } = await setUp(t)
  store(server, clock, 'second')
  await validate('second')
  await clock.advance(MAX_TTL_MS)
  const responses: ServerResponse[] = []
  server.answerWith((response) => responses.push(response))
  let result: unknown
  const pending = validate('known').then((status) => {
    result = status
  })
  await clock.advance(PATIENCE_MS - 1)
  t.equal(result, undefined)
  await clock.advance(1)
  await pending
  t.match(result, STALE)
  t.match(await validate('known'), STALE, 'while its check is in progress')
  t.match(await validate('second'), STALE, 'another token of this issuer')
  await until('both checks are in progress', async () => responses.length === 2)
  server.answerWith(undefined)
  for (const response of responses) respond(200, '{"active":false}')(response)
  await until('the late response applies', async () => !(await validate('known')).active)
  t.match(await validate('known'), INACTIVE)
})

t.test('checks of known tokens use at most half of the queue', async (t) => {
  const { clock, server, validate } = await setUp(t, { maxConcurrent: 1, maxQueue: 4 })
  const known = Array.from({ length: 10 }, (_, index) => store(server, clock, `known-${index}`))
  for (const token of known) await validate(token)
  await clock.advance(MAX_TTL_MS)
  const responses: ServerResponse[] = []
  server.answerWith((response) => responses.push(response))
  const pending = known.map((token) => validate(token))
  await until('the queue has its share', async () => responses.length === 1)
  t.match(await Promise.race(pending), STALE, 'the queue is full for known tokens')
  store(server, clock, 'new')
  const isNew = validate('new')
  server.answerWith(undefined)
  for (const response of responses) respond(503)(response)
  t.match(await isNew, { active: true, isStale: undefined })
  for (const status of await Promise.all(pending)) t.equal(status.active, true)
})
