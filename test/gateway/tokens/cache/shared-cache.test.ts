import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { SharedLookupResult } from '../../../../gateway/tokens/cache/shared-cache.ts'
import { createIntrospector } from '../../../../gateway/tokens/introspection/introspect.ts'
import { isMarkedRevoked } from '../../../../gateway/tokens/revocation/revoked-tokens.ts'
import { revokedKey } from '../../../../platform/redis/revocation-keys.ts'
import { openSharedRedis } from '../../../../platform/redis/shared-redis.ts'
import { startIssuer, type TestIssuer } from '../../../fixtures/an-issuer.ts'
import { introspectionOptions } from '../../../fixtures/introspection-options.ts'
import { SILENT_LOGGER } from '../../../fixtures/silent-logger.ts'
import { startRedis } from '../../../fixtures/start-redis.ts'
import { until } from '../../../fixtures/until.ts'

const ISSUER = 'https://issuer.test'
const TTL_MS = 30_000
/** The timeout is long, because on a busy machine a slow Redis would count as failed. */
const TIMEOUT_MS = 20_000
const folder = mkdtempSync(join(tmpdir(), 'scopegate-shared-'))
const redis = await startRedis({ folder })
const spy = new Redis(redis.url)
t.teardown(async () => {
  spy.disconnect()
  await redis.stop()
  rmSync(folder, { recursive: true })
})
t.beforeEach(() => spy.flushall())

/** Creates the introspection client of one gateway. The test can set the wall clock of the client ahead. */
async function aGateway(
  t: Test,
  issuer: TestIssuer,
  change: { secret?: string; id?: string; maxTtlMs?: number; staleIfErrorMs?: number } = {},
) {
  const clock = { aheadMs: 0 }
  const results: SharedLookupResult[] = []
  const logger = SILENT_LOGGER
  const shared = await openSharedRedis({
    url: redis.url,
    logger,
    tickMs: () => performance.now(),
    commandTimeoutMs: TIMEOUT_MS,
  })
  const introspector = createIntrospector(
    introspectionOptions({
      issuer: ISSUER,
      endpoint: issuer.endpoint,
      clientId: issuer.clientId,
      clientSecret: change.secret ?? issuer.clientSecret,
      id: change.id ?? 'configuration',
      nowMs: () => Date.now() + clock.aheadMs,
      staleIfErrorMs: change.staleIfErrorMs ?? 0,
      shared: {
        redis: shared,
        isRevoked: (caller) => isMarkedRevoked(shared.redis, caller),
        maxTtlMs: change.maxTtlMs ?? TTL_MS,
        deadlineMs: TIMEOUT_MS,
        maxAgeMs: (_issuer, sinceGapMs) => Math.min(TTL_MS, sinceGapMs),
        onResult: (result) => results.push(result),
      },
    }),
  )
  t.teardown(async () => {
    await introspector.close()
    shared.close()
  })
  return { introspect: introspector.introspect, clock, results }
}

async function setUp(t: Test) {
  const issuer = await startIssuer({ issuer: ISSUER, audience: 'https://api.test' })
  t.teardown(() => issuer.close())
  return { issuer, one: await aGateway(t, issuer), two: await aGateway(t, issuer) }
}

async function theKey(): Promise<string> {
  return until('the entry is stored', async () => (await spy.keys('scopegate:verdict:*'))[0])
}

t.test('one gateway introspects a token, and the others use its cache entry', async (t) => {
  const { issuer, one, two } = await setUp(t)
  issuer.store('token', { scope: 'courses:read', jti: 'a', email: 'alice@example.com' })
  const first = await one.introspect('token')
  const key = await theKey()
  const second = await two.introspect('token')
  t.equal(issuer.asked.length, 1)
  t.same(second.status, first.status, 'the same claims')
  t.ok(second.ageMs >= 0 && second.ageMs < 5_000 && second.ttlMs <= TTL_MS)
  t.same([...one.results, ...two.results], ['miss', 'hit'])
  const ttl = await spy.pttl(key)
  t.ok(ttl > 0 && ttl <= TTL_MS)
})

t.test('Redis contains no readable token, claim or token hash', async (t) => {
  const { issuer, one } = await setUp(t)
  issuer.store('the-token', { sub: 'alice', scope: 'courses:read', email: 'alice@example.com' })
  await one.introspect('the-token')
  const everything = (await theKey()) + (await spy.getBuffer(await theKey()))?.toString('latin1')
  for (const word of ['the-token', 'alice', 'courses', 'active', 'user', issuer.clientSecret])
    t.notMatch(everything, word)
})

t.test('a gateway does not use entries from another issuer, configuration or secret', async (t) => {
  const { issuer, one } = await setUp(t)
  issuer.store('token')
  await one.introspect('token')
  await theKey()
  const other = await aGateway(t, issuer, { id: 'another configuration' })
  await other.introspect('token')
  t.equal(issuer.asked.length, 2)
  const stranger = await aGateway(t, issuer, { secret: 'guessed' })
  await t.rejects(stranger.introspect('token'), { code: 'ERR_INTROSPECTION_CREDENTIALS' })
  t.same([...other.results, ...stranger.results], ['miss', 'miss'])
})

t.test('an inactive token status is not shared', async (t) => {
  const { issuer, one, two } = await setUp(t)
  t.match(await one.introspect('unknown'), { status: { active: false } })
  issuer.store('good')
  await one.introspect('good')
  await theKey()
  t.equal(await spy.dbsize(), 1)
  await two.introspect('unknown')
  t.equal(issuer.asked.length, 3)
})

t.test('an invalid entry in Redis is a miss, and the gateway introspects the token', async (t) => {
  const { issuer, one, two } = await setUp(t)
  issuer.store('token')
  issuer.store('rich', { scope: 'courses:write', sub: 'rich' })
  await one.introspect('rich')
  const richKey = await theKey()
  const rich = await spy.getBuffer(richKey)
  await spy.del(richKey)
  await one.introspect('token')
  const key = await theKey()
  const own = await spy.getBuffer(key)
  if (rich === null || own === null) throw new Error('both are kept')
  const changed = Buffer.from(own)
  changed.writeUInt8(changed.readUInt8(40) ^ 1, 40)
  const rows: readonly (readonly [what: string, put: () => Promise<unknown>])[] = [
    ['junk', () => spy.set(key, 'junk', 'PX', TTL_MS)],
    ['claims without encryption', () => spy.set(key, '{"active":true,"scope":"all"}', 'PX', TTL_MS)],
    ["another token's value", () => spy.set(key, rich, 'PX', TTL_MS)],
    ['one bit changed', () => spy.set(key, changed, 'PX', TTL_MS)],
    ['1 MB', () => spy.set(key, Buffer.concat([own, Buffer.alloc(2 ** 20)]), 'PX', TTL_MS)],
    ['its own value without expiry', () => spy.set(key, own)],
    ['a list', () => spy.lpush(key, own)],
    ['a hash', () => spy.hset(key, 'a', own)],
  ]
  for (const [what, put] of rows) {
    await spy.del(key)
    await put()
    const asked = issuer.asked.length
    t.match(await two.introspect('token'), { status: { caller: { subject: 'user-1' } } }, what)
    t.equal(issuer.asked.length, asked + 1, what)
    t.equal(two.results.at(-1), 'bad', what)
    await until('the entry is stored again', async () => {
      // The gateway also replaces a value that is not a Redis string.
      return (await spy.type(key)) === 'string' && (await spy.strlen(key)) === own.length
    })
  }
  await spy.set(key, own, 'PX', TTL_MS * 100)
  await two.introspect('token')
  t.equal(two.results.at(-1), 'hit', 'a longer TTL in Redis does not make an entry younger')
  two.clock.aheadMs = TTL_MS
  await two.introspect('token')
  t.equal(two.results.at(-1), 'stale')
})

t.test('a clock that is wrong by one hour causes only one additional introspection', async (t) => {
  for (const aheadMs of [3_600_000, -3_600_000]) {
    const { issuer, one, two } = await setUp(t)
    issuer.store('token', { exp: Math.floor(Date.now() / 1_000) + 86_400 })
    await one.introspect('token')
    await theKey()
    two.clock.aheadMs = aheadMs
    t.match(await two.introspect('token'), { status: { active: true } })
    t.same(two.results, [aheadMs > 0 ? 'stale' : 'bad'])
    t.equal(issuer.asked.length, 2)
    await spy.flushall()
  }
})

t.test('an entry is at most as old as the caller accepts, and expires with the token', async (t) => {
  const { issuer, one, two } = await setUp(t)
  issuer.store('token', { exp: Math.floor(Date.now() / 1_000) + 10 })
  await one.introspect('token')
  const ttl = await spy.pttl(await theKey())
  t.ok(ttl <= 10_000, `TTL of ${ttl} ms`)
  await two.introspect('token', 0)
  t.same(two.results, ['stale'])
  t.equal(issuer.asked.length, 2)
})

t.test('no gateway uses an entry for a longer time than the gateway that stored it', async (t) => {
  const { issuer, one } = await setUp(t)
  issuer.store('token')
  const hasty = await aGateway(t, issuer, { maxTtlMs: 1_000 })
  await hasty.introspect('token')
  const key = await theKey()
  await spy.pexpire(key, TTL_MS)
  one.clock.aheadMs = 1_000
  await one.introspect('token')
  t.same(one.results, ['stale'])
})

t.test('no gateway reads the status of a revoked token from Redis', async (t) => {
  const { issuer, one, two } = await setUp(t)
  issuer.store('token', { grant: 'grant-1' })
  await one.introspect('token')
  await theKey()
  issuer.revoke('token', { push: false })
  await spy.set(revokedKey('grant', 'grant-1'), '1')
  t.match(await two.introspect('token'), { status: { active: false } })
  t.same(two.results, ['revoked'])
})

t.test('a gateway introspects again when an entry lacks a claim that its policies need', async (t) => {
  const issuer = await startIssuer({ issuer: ISSUER, audience: ISSUER })
  t.teardown(() => issuer.close())
  issuer.store('a', { tenant: 't1', roles: { inner: ['x', { y: 1 }] }, huge: 'x'.repeat(2_000) })
  const [one, other] = [await aGateway(t, issuer), await aGateway(t, issuer)]
  const claimsOf = async (gateway: typeof one, names: readonly string[]) => {
    const { status } = await gateway.introspect('a', undefined, names)
    return status.active ? Object.fromEntries(status.caller.claims) : undefined
  }
  t.strictSame(await claimsOf(one, ['tenant']), { tenant: 't1' })
  await until('it is shared', async () => (await spy.dbsize()) === 1)
  t.strictSame(await claimsOf(other, ['tenant']), { tenant: 't1' })
  t.equal(issuer.asked.length, 1)
  const names = ['/roles/inner', 'absent', 'huge', 'tenant']
  const known = { '/roles/inner': ['x'], absent: undefined, huge: [], tenant: 't1' }
  t.strictSame(await claimsOf(other, names), known)
  t.equal(issuer.asked.length, 2)
  await until('the fuller one is shared', async () => {
    await claimsOf(one, names)
    return one.results.at(-1) === 'hit'
  })
  t.strictSame(await claimsOf(one, names), known)
  t.strictSame(await claimsOf(one, ['absent']), known, 'additional known claims have no effect')
})

const STALE_MS = 60_000
const away = (response: { writeHead(status: number): { end(): unknown } }): void => {
  response.writeHead(503).end()
}

/**
 * Creates two gateways with `staleIfError`, and an issuer. Only the first gateway has introspected the token of the
 * issuer.
 */
async function setUpOutage(t: Test, claims = {}) {
  const issuer = await startIssuer({ issuer: ISSUER, audience: 'https://api.test' })
  t.teardown(() => issuer.close())
  const one = await aGateway(t, issuer, { staleIfErrorMs: STALE_MS })
  const two = await aGateway(t, issuer, { staleIfErrorMs: STALE_MS })
  issuer.store('token', { grant: 'grant-1', ...claims })
  await one.introspect('token')
  const key = await theKey()
  issuer.answerWith(away)
  return { issuer, one, two, key }
}

t.test(
  'during an outage, a gateway uses the status from another gateway within the same time limit',
  async (t) => {
    const { issuer, two, key } = await setUpOutage(t)
    const ttl = await spy.pttl(key)
    t.ok(ttl > TTL_MS && ttl <= TTL_MS + STALE_MS)
    two.clock.aheadMs = TTL_MS
    t.match(await two.introspect('token'), {
      status: { active: true, isStale: true },
      ttlMs: TTL_MS,
      staleIfErrorMs: STALE_MS,
    })
    t.same(two.results, ['stale'])
    await spy.pexpire(key, 1_000)
    two.clock.aheadMs = 0
    const late = await two.introspect('token')
    t.ok(late.ageMs >= TTL_MS + STALE_MS - 1_000, 'the age by the clock of Redis')
    two.clock.aheadMs = TTL_MS + STALE_MS
    await t.rejects(two.introspect('token'), { code: 'ERR_INTROSPECTION_STATUS' })
    two.clock.aheadMs = TTL_MS
    issuer.answerWith(undefined)
    t.match(await two.introspect('token'), { status: { active: true, isStale: undefined } })
  },
)

t.test(
  'a stale status of another gateway is not used after a revocation, an expiry or a rejection',
  async (t) => {
    const revoked = await setUpOutage(t)
    revoked.two.clock.aheadMs = TTL_MS
    await spy.set(revokedKey('grant', 'grant-1'), '1')
    await t.rejects(revoked.two.introspect('token'), { code: 'ERR_INTROSPECTION_STATUS' })
    t.same(revoked.two.results, ['stale'])
    await spy.flushall()

    const expired = await setUpOutage(t, { exp: Math.floor(Date.now() / 1_000) + 40 })
    t.ok((await spy.pttl(expired.key)) <= 40_000, 'the entry expires with the token')
    expired.two.clock.aheadMs = 41_000
    await t.rejects(expired.two.introspect('token'), { code: 'ERR_INTROSPECTION_STATUS' })
    await spy.flushall()

    const rejected = await setUpOutage(t)
    rejected.two.clock.aheadMs = TTL_MS
    rejected.issuer.answerWith((response) => response.writeHead(401).end())
    await t.rejects(rejected.two.introspect('token'), { code: 'ERR_INTROSPECTION_CREDENTIALS' })
    await spy.flushall()

    const inactive = await setUpOutage(t)
    inactive.issuer.answerWith(undefined)
    inactive.issuer.revoke('token', { push: false })
    inactive.two.clock.aheadMs = TTL_MS
    t.match(await inactive.two.introspect('token'), { status: { active: false } })
    await until('the entry is removed', async () => (await spy.exists(inactive.key)) === 0)
    await spy.flushall()

    const off = await setUpOutage(t)
    const other = await aGateway(t, off.issuer)
    await t.rejects(other.introspect('token', 0), { code: 'ERR_INTROSPECTION_STATUS' })
  },
)

t.test('a revocation in Redis discards the earlier status of this process', async (t) => {
  const { two } = await setUpOutage(t)
  await spy.set(revokedKey('grant', 'grant-1'), '1')
  const discarded: string[] = []
  const earlier = {
    issuer: undefined,
    mayBeShared: true,
    find: () => undefined,
    responded: () => undefined,
    discard: (issuer: string) => void discarded.push(issuer),
  }
  await t.rejects(two.introspect('token', Infinity, [], earlier), { code: 'ERR_INTROSPECTION_STATUS' })
  t.same(two.results, ['revoked'])
  t.same(discarded, [ISSUER])
})

t.test('the rejection of a token removes its status from Redis, also after a failed lookup', async (t) => {
  const { issuer, one, two, key } = await setUpOutage(t)
  issuer.answerWith(undefined)
  issuer.revoke('token', { push: false })
  t.match(await two.introspect('token', Infinity, ['plan']), { status: { active: false } })
  t.same(two.results, ['stale'], 'the status lacks a claim')
  await until('the entry is removed', async () => (await spy.exists(key)) === 0)
  issuer.answerWith(away)
  one.clock.aheadMs = TTL_MS
  await t.rejects(one.introspect('token'), { code: 'ERR_INTROSPECTION_STATUS' })
})
