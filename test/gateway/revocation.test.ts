import { tmpdir } from 'node:os'
import t from 'tap'
import { type GatewayUnderTest, pushing, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { startIssuer } from '../fixtures/an-issuer.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

async function statusOf(under: GatewayUnderTest, token: string): Promise<number> {
  const response = await fetch(`${under.gateway.url}/api/courses`, {
    headers: { authorization: `Bearer ${token}` },
  })
  await response.arrayBuffer()
  return response.status
}

async function startListening(t: Parameters<typeof startGatewayUnderTest>[0]) {
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map(pushing),
    }),
  })
}

async function connected(under: GatewayUnderTest, times: number) {
  await under.issuer.subscribed()
  await until(
    'connected',
    async () => under.log().filter((line) => line['event'] === 'revocations_connected').length === times,
  )
}

t.test(
  'the gateway rejects all tokens of a grant when the issuer publishes the revocation of one token',
  async (t) => {
    const under = await startListening(t)
    await connected(under, 1)
    under.issuer.store('one', { scope: 'courses:read', grant: 'g1' })
    under.issuer.store('two', { scope: 'courses:read', grant: 'g1' })
    under.issuer.store('other', { scope: 'courses:read', grant: 'g2' })
    for (const token of ['one', 'two', 'other']) t.equal(await statusOf(under, token), 200)
    t.equal(under.issuer.asked.length, 3)
    under.issuer.revoke('two', { push: false })
    under.issuer.revoke('one')
    await until('rejected', async () => (await statusOf(under, 'one')) === 401)
    t.equal(await statusOf(under, 'two'), 401)
    t.equal(await statusOf(under, 'other'), 200)
    t.equal(under.issuer.asked.length, 5, 'the token of the other grant stayed in the cache')
  },
)

t.test('after a revocation gap the gateway uses no cached token status', async (t) => {
  const under = await startListening(t)
  await connected(under, 1)
  under.issuer.store('one', { scope: 'courses:read' })
  t.equal(await statusOf(under, 'one'), 200)
  under.issuer.revoke('one', { push: false })
  t.equal(await statusOf(under, 'one'), 200, 'no revocation was published')
  under.issuer.dropSubscribers()
  await connected(under, 2)
  t.equal(await statusOf(under, 'one'), 401)
})

t.test('an issuer without a revocation stream works as before', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: config.issuers.map((issuer) => ({
        ...issuer,
        revocations: 'http://127.0.0.1:1/internal/revocations',
      })),
    }),
  })
  under.issuer.store('one', { scope: 'courses:read' })
  t.equal(await statusOf(under, 'one'), 200)
  await until('the loss is logged', async () =>
    under.log().some((line) => line['event'] === 'revocations_lost'),
  )
})

t.test('a gateway that starts without Redis limits the cache as without a revocation stream', async (t) => {
  const redis = await startRedis({ folder: tmpdir() })
  t.teardown(redis.stop)
  const network = await startFaultProxy(redis.port)
  t.teardown(network.close)
  await network.down()
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      redis: { url: `redis://127.0.0.1:${network.port}` },
      tokenCache: { ...config.tokenCache, ttlWithoutPushMs: 150 },
    }),
  })
  const channelUp = async () =>
    (await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()).match(
      /^scopegate_revocation_channel_up\{.*\} (\d)$/m,
    )?.[1]
  under.issuer.store('one', { scope: 'courses:read' })
  t.equal(await statusOf(under, 'one'), 200)
  t.equal(await channelUp(), '0')
  under.issuer.revoke('one', { push: false })
  await until('rejected', async () => (await statusOf(under, 'one')) === 401)

  // Redis contains no publisher key of the issuer. The gateway therefore expects no revocations in Redis, and the
  // metric of the channel has no value.
  await network.up()
  await until('Redis has responded', async () => (await channelUp()) === undefined)
})

t.test('the stream requires the credentials of the gateway', async (t) => {
  const issuer = await startIssuer({ issuer: 'http://a', audience: 'http://a' })
  t.teardown(() => issuer.close())
  t.equal((await fetch(issuer.revocations)).status, 401)
})
