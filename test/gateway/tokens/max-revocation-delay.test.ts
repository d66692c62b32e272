import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { type EarlierStatus, NO_EARLIER_STATUS } from '../../../gateway/tokens/cache/token-status.ts'
import {
  type IssuerClient,
  type IssuerClientOptions,
  openIssuerClient,
} from '../../../gateway/tokens/issuer-client.ts'
import type { JwtConfig } from '../../../gateway/tokens/issuer-config.ts'
import { staleIfErrorOf } from '../../../gateway/tokens/open-tokens.ts'
import { resolveIssuer } from '../../../gateway/tokens/resolve-issuer.ts'
import { openSharedRedis } from '../../../platform/redis/shared-redis.ts'
import { aClock } from '../../fixtures/a-clock.ts'
import { aJwtIssuerConfig } from '../../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../../fixtures/a-jwt-issuer.ts'
import { startIssuer } from '../../fixtures/an-issuer.ts'
import { SILENT_LOGGER } from '../../fixtures/silent-logger.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

const START_SECONDS = 1_800_000_000
const DELAY_MS = 60_000
/** These tests must not use an earlier status, because an earlier status extends maxRevocationDelay. */
const NEVER_USED: EarlierStatus = {
  ...NO_EARLIER_STATUS,
  find: () => {
    throw new Error('an earlier status of a JWT')
  },
}

/** Creates an issuer client. The test sets the time until which the gateway has received all revocations. */
async function open(
  t: Test,
  change: Partial<JwtConfig>,
  withIntrospection: boolean,
  shared?: IssuerClientOptions['shared'],
) {
  const clock = aClock(START_SECONDS * 1_000)
  const jwts = await startJwtIssuer()
  const introspected = await startIssuer({ issuer: jwts.issuer, audience: 'https://api.test' })
  const codes: unknown[] = []
  const state = { completeUntilMs: 0 }
  const client: IssuerClient = await openIssuerClient({
    config: {
      ...aJwtIssuerConfig(jwts.issuer, change),
      introspection: withIntrospection
        ? {
            endpoint: introspected.endpoint,
            clientId: introspected.clientId,
            clientSecret: introspected.clientSecret,
            timeoutMs: 20_000,
            maxConcurrent: 64,
            maxQueue: 1_024,
            ttlMs: Number.POSITIVE_INFINITY,
            signed: false,
          }
        : undefined,
    },
    baseUrl: 'https://api.test',
    dataDir: undefined,
    clock,
    random: () => 0,
    shared,
    completeUntilMs: () => state.completeUntilMs,
    meter: { refreshed() {}, dropped() {}, introspected() {}, sharedLookUp() {}, staleUsed() {} },
    logger: { info() {}, warn() {}, error() {} } as never,
    failures: {
      failed: (kind: { event: string }, error: { code: string }) => codes.push(kind.event, error.code),
    } as never,
  })
  t.teardown(async () => {
    await client.close()
    await Promise.all([jwts.close(), introspected.close()])
  })
  const sign = (iat: number | undefined) =>
    jwts.sign({ iat, exp: START_SECONDS + 900, aud: 'https://api.test' })
  const ask = (token: string) => {
    const check = resolveIssuer(token, [client])
    if (check.kind === 'known') throw new Error('the token needs a check')
    return check.validate(Number.POSITIVE_INFINITY, [], NEVER_USED, undefined)
  }
  return { clock, introspected, sign, ask, state, codes }
}

t.test('without maxRevocationDelay, a JWT is accepted until it expires', async (t) => {
  const { clock, introspected, sign, ask, state } = await open(t, {}, true)
  state.completeUntilMs = Number.NEGATIVE_INFINITY
  const token = sign(START_SECONDS - 100)
  await clock.advance(899_000)
  t.match(await ask(token), { status: { active: true }, ageMs: 0, ttlMs: Infinity })
  t.equal(introspected.asked.length, 0)
})

t.test(
  'the gateway introspects a JWT when revocations are missing for longer than maxRevocationDelay',
  async (t) => {
    const { clock, introspected, sign, ask } = await open(t, { maxRevocationDelayMs: DELAY_MS }, true)
    const token = sign(START_SECONDS - 100)
    t.match(await ask(token), { status: { active: true }, ttlMs: DELAY_MS })
    await clock.advance(DELAY_MS - 1)
    t.match(await ask(token), { status: { active: true }, ttlMs: 1 }, 'the cache entry ends with the delay')
    t.equal(introspected.asked.length, 0)
    await clock.advance(1)
    t.match(await ask(token), { status: { active: false, fault: { reason: 'inactive' } }, staleIfErrorMs: 0 })
    t.equal(introspected.asked.length, 1, 'the issuer decides')
    introspected.answerWith((response) => response.writeHead(503).end())
    await t.rejects(ask(token), { code: 'ERR_INTROSPECTION_STATUS' }, 'the gateway responds with 503')
  },
)

t.test('a JWT that was issued during the outage is accepted for maxRevocationDelay', async (t) => {
  const { clock, introspected, sign, ask, state } = await open(t, { maxRevocationDelayMs: DELAY_MS }, true)
  state.completeUntilMs = Number.NEGATIVE_INFINITY
  await clock.advance(100_000)
  const token = sign(START_SECONDS + 90)
  t.match(await ask(token), { status: { active: true }, ttlMs: DELAY_MS - 10_000 })
  const ahead = sign(START_SECONDS + 130)
  t.match(await ask(ahead), { status: { active: true }, ttlMs: DELAY_MS }, 'the clock of the issuer is ahead')
  t.equal(introspected.asked.length, 0)
  t.match(await ask(sign(START_SECONDS)), { status: { active: false } })
  t.match(await ask(sign(undefined)), { status: { active: false } }, 'without iat')
  t.equal(introspected.asked.length, 2)
})

t.test('a JWT of an issuer without introspection cannot be verified after maxRevocationDelay', async (t) => {
  const { clock, sign, ask, state, codes } = await open(t, { maxRevocationDelayMs: DELAY_MS }, false)
  const token = sign(START_SECONDS - 100)
  await clock.advance(DELAY_MS)
  await t.rejects(ask(token), { code: 'ERR_REVOCATIONS_MISSING' })
  t.strictSame(codes, ['jwt_unverifiable', 'ERR_REVOCATIONS_MISSING'])
  state.completeUntilMs = clock.tickMs()
  t.match(await ask(token), { status: { active: true } }, 'revocations arrive again')
})

t.test('a status from another gateway does not extend maxRevocationDelay', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = await openSharedRedis({
    url: server.url,
    logger: SILENT_LOGGER,
    tickMs: () => performance.now(),
    commandTimeoutMs: 20_000, // long, because on a busy machine a slow Redis would count as failed
  })
  const spy = new Redis(server.url)
  t.teardown(async () => {
    redis.close()
    spy.disconnect()
    await server.stop()
  })
  const shared = { redis, isRevoked: async () => false, maxTtlMs: 30_000, maxAgeMs: () => 30_000 }
  const { clock, introspected, sign, ask, state } = await open(
    t,
    { maxRevocationDelayMs: DELAY_MS },
    true,
    shared,
  )
  state.completeUntilMs = Number.NEGATIVE_INFINITY
  const token = sign(START_SECONDS - 100)
  introspected.store(token, { iat: START_SECONDS - 100, exp: START_SECONDS + 900 })
  t.match(await ask(token), { status: { active: true, isStale: undefined } })
  await until('the status is shared', async () => (await spy.keys('scopegate:verdict:*')).length === 1)
  introspected.answerWith((response) => response.writeHead(503).end())
  t.match(await ask(token), { status: { active: true, isStale: undefined } }, 'within its cache time')
  await clock.advance(30_000)
  await t.rejects(ask(token), { code: 'ERR_INTROSPECTION_STATUS' })
})

t.test('staleIfErrorOf() is 0 for a JWT that the gateway verifies', async (t) => {
  const { sign } = await open(t, {}, false)
  const token = sign(START_SECONDS)
  const issuer = 'https://issuer.test'
  const config = aJwtIssuerConfig(issuer)
  t.equal(staleIfErrorOf({ issuers: [config] }, token, issuer), 0)
  t.equal(staleIfErrorOf({ issuers: [config] }, 'opaque', issuer), 60_000)
  t.equal(staleIfErrorOf({ issuers: [{ ...config, jwt: undefined }] }, token, issuer), 60_000)
  t.equal(staleIfErrorOf({ issuers: [config] }, 'opaque', 'https://other.test'), 0)
})
