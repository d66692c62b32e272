import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measureRevocations } from '../../bench/soak/measure-revocations.ts'
import {
  awaitChannel,
  type RevocationCluster,
  startRevocationCluster,
} from '../../bench/soak/revocation-cluster.ts'
import { captureLog, recordCredential } from '../fixtures/capture.ts'
import { type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { GRANT_ENDS } from '../fixtures/grant-ends.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { knownClient } from '../fixtures/register-client.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

/** Cache time of a token status while the revocation stream is down. With the stream, the cache time is 30 s. */
const CAP_MS = 5_000
/**
 * Half of the cache time of 30 s. A gateway that rejects the token within this time has received the revocation. The
 * soak test checks the maximum delay of a revocation, which is 1 s.
 */
const TOLD_MS = 15_000

/** Disables the repeat window. Every second use of a refresh token then revokes the grant. */
const SERVER_SETTINGS = { SCOPEGATE_REFRESH_TOKENS__REPEAT_WINDOW: '0s' }

type Cluster = RevocationCluster & { readonly folder: string }

/** The test that owns a cluster: one test, or the root test of this file. */
type Owner = Pick<Test, 'testdir' | 'teardown'>

/**
 * Registers a teardown that stops a cluster, and checks that its logs contain no token. The caller must not have called
 * `t.testdir()` before, so that the teardown runs before the removal of the folder.
 */
function atEnd(t: Owner) {
  const cleanup = createCleanup()
  const secrets = new Set<string>()
  let folder: string | undefined
  t.teardown(async () => {
    await cleanup.run()
    for (const name of readdirSync(folder ?? '.').filter((one) => one.endsWith('.log'))) {
      const log = readFileSync(join(folder ?? '.', name), 'utf8')
      captureLog(name)(log)
      if ([...secrets].some((secret) => log.includes(secret))) throw new Error(`${name} shows a secret`)
    }
  })
  return {
    cleanup,
    secret(value: string | undefined) {
      if (value === undefined) return
      secrets.add(value)
      recordCredential(value)
    },
    logsIn(where: string) {
      folder = where
    },
  }
}

async function startOnSqlite(t: Owner): Promise<Cluster> {
  const { cleanup, secret, logsIn } = atEnd(t)
  const folder = t.testdir()
  logsIn(folder)
  const options = {
    gateways: 2,
    servers: 1,
    redis: undefined,
    eventStream: true,
    serverSettings: SERVER_SETTINGS,
  }
  return { folder, ...(await startRevocationCluster({ folder, cleanup, secret, ...options })) }
}

type RedisCluster = Cluster & {
  /** The connection of the gateways to Redis. */
  readonly way: FaultProxy
  readonly redisFolder: string
  readonly redisUrl: string
  stopRedis(): Promise<void>
  /**
   * Starts Redis again with the data on the disk. By default, uses the append-only file. If `keepsData` is false, uses
   * the snapshot.
   */
  startRedis(options?: { readonly keepsData: boolean }): Promise<void>
}

/** Starts two gateways and two authorization servers on a durable Redis. Each gateway uses a different server. */
async function startOnRedis(t: Owner, options: { readonly eventStream: boolean }): Promise<RedisCluster> {
  const { cleanup, secret, logsIn } = atEnd(t)
  const parent = t.testdir({ redis: {}, cluster: {} })
  const [redisFolder, folder] = [join(parent, 'redis'), join(parent, 'cluster')]
  logsIn(folder)
  let redis = await startRedis({ folder: redisFolder, keepsData: true })
  cleanup.add(() => redis.stop())
  const way = await startFaultProxy(redis.port)
  cleanup.add(() => way.close())
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    secret,
    gateways: 2,
    servers: 2,
    redis: { ofServers: redis.url, ofGateways: `redis://127.0.0.1:${way.port}` },
    eventStream: options.eventStream,
    serverSettings: SERVER_SETTINGS,
  })
  await awaitChannel(cluster, 'up')
  return {
    ...cluster,
    folder,
    way,
    redisFolder,
    redisUrl: redis.url,
    stopRedis: () => redis.stop(),
    async startRedis({ keepsData } = { keepsData: true }) {
      redis = await startRedis({ folder: redisFolder, port: redis.port, keepsData })
    },
  }
}

async function statuses({ gateways }: RevocationCluster, token: string): Promise<readonly number[]> {
  return Promise.all(gateways.map((gateway) => gateway.statusOf(token)))
}

/** Returns a token that every gateway has already accepted. */
async function knownToken(t: Test, cluster: RevocationCluster): Promise<string> {
  const token = await cluster.obtainToken()
  t.same(await statuses(cluster, token), [201, 201])
  return token
}

/**
 * Ends one grant for each entry of `GRANT_ENDS`.
 * @returns the tokens. All gateways accepted the tokens before the end of the grant, and deny the tokens after it.
 */
async function endGrants(t: Test, cluster: RevocationCluster): Promise<readonly string[]> {
  const { client, gateways, servers } = cluster
  const elsewhere = knownClient({ baseUrl: servers.at(-1)?.url ?? '', secret: () => undefined }, client)
  const browser = openBrowser(gateways[0]?.url ?? '')
  const gone: string[] = []
  for (const [how, end] of Object.entries(GRANT_ENDS)) {
    const code = await client.obtainCode({ browser, scope: 'courses:read' })
    const tokens = client.readTokens(await client.exchange(code))
    t.same(await statuses(cluster, tokens.accessToken), [201, 201])
    await end({ client, elsewhere, code, tokens })
    await denied(cluster, tokens.accessToken, TOLD_MS)
    t.pass(`rejected by all when ${how}`)
    gone.push(tokens.accessToken)
  }
  return gone
}

async function denied(cluster: RevocationCluster, token: string, limitMs?: number): Promise<void> {
  await until(
    'all gateways deny the token',
    async () => (await statuses(cluster, token)).every((status) => status === 401),
    limitMs,
  )
}

/** The tests with Redis share this cluster. The last test removes the data of the cluster. */
const cluster = await startOnRedis(t, { eventStream: false })

t.test(
  'Redis, two authorization servers: all gateways permanently deny a token that one server revoked',
  async (t) => {
    const { client, gateways, servers } = cluster
    const gone: string[] = []
    const stillGone = async (what: string): Promise<void> => {
      for (const token of gone) t.same(await statuses(cluster, token), [401, 401], what)
    }
    const kept = await knownToken(t, cluster)

    // `npm run soak:revocation` repeats more rounds, and measures times.
    const { tokens, answers } = await measureRevocations(cluster, { rounds: 10, until: 'denied' })
    t.same([...answers], [[200, 10]])
    gone.push(...tokens, ...(await endGrants(t, cluster)))
    t.same(await statuses(cluster, kept), [201, 201])

    await gateways[1]?.restart()
    await stillGone('after a gateway was restarted')
    await servers[0]?.restart()
    await servers[1]?.restart()
    await stillGone('after the authorization servers were restarted')
    t.same(await statuses(cluster, kept), [201, 201])

    await cluster.stopRedis()
    await awaitChannel(cluster, 'down')
    for (const token of gone)
      for (const status of await statuses(cluster, token))
        t.ok([401, 503].includes(status), `${status} while Redis is unreachable: denied or unknown`)
    await cluster.startRedis()
    await awaitChannel(cluster, 'up')
    await stillGone('after Redis was restarted with its data')
    t.same(await statuses(cluster, kept), [201, 201])

    const token = await knownToken(t, cluster)
    t.equal((await client.revoke(token)).status, 200)
    await denied(cluster, token, TOLD_MS)

    await servers[0]?.restart({ SCOPEGATE_DEVELOPMENT: 'false' })
    await denied(cluster, kept, TOLD_MS) // the account and its grants are deleted
    await servers[0]?.restart({ SCOPEGATE_DEVELOPMENT: 'true' }) // the next tests use the account
  },
)

t.test(
  'a paused gateway receives the revocations of the gap, and uses no outdated token status until then',
  async (t) => {
    const [gateway] = cluster.gateways.slice(-1)
    if (gateway === undefined) return
    const token = await knownToken(t, cluster)
    const knownMs = performance.now()
    const gaps = await gateway.metric('scopegate_revocation_gaps_total')
    const received = await gateway.metric('scopegate_revocations_received_total')
    process.kill(gateway.process.pid, 'SIGSTOP')
    t.equal((await cluster.client.revoke(token)).status, 200)
    await until(
      'its cached token status is older than the cap',
      async () => performance.now() - knownMs > CAP_MS,
    )
    process.kill(gateway.process.pid, 'SIGCONT')
    t.equal(await gateway.statusOf(token), 401, 'immediately')
    await awaitChannel(cluster, 'up')
    t.equal(
      await gateway.metric('scopegate_revocation_gaps_total'),
      gaps,
      'the gateway resumed without a gap',
    )
    t.ok((await gateway.metric('scopegate_revocations_received_total')) > received)
  },
)

t.test(
  'gateways lose Redis: they deny revoked tokens within ttlWithoutPush, and receive missed revocations later',
  async (t) => {
    const { client, way } = cluster
    for (const [how, cut] of [
      ['down', () => way.down()],
      ['silent', async () => way.toClient({ blackHole: true })],
    ] as const) {
      const token = await knownToken(t, cluster)
      await cut()
      t.equal(
        (await client.revoke(token)).status,
        200,
        'the authorization server has its own connection to Redis',
      )
      const startedMs = performance.now()
      await denied(cluster, token, CAP_MS + 15_000)
      t.comment(`${how}: denied by all after ${Math.round(performance.now() - startedMs)} ms`)
      await awaitChannel(cluster, 'down')
      way.heal()
      await way.up()
      way.reset()
      await awaitChannel(cluster, 'up')
      t.same(await statuses(cluster, token), [401, 401])
    }
  },
)

t.test('Redis loses its data: denied tokens stay denied, and the services report the loss', async (t) => {
  const token = await knownToken(t, cluster)
  const other = await knownToken(t, cluster)
  const redis = new Redis(cluster.redisUrl)
  await redis.save()
  redis.disconnect()
  t.equal((await cluster.client.revoke(token)).status, 200)
  await denied(cluster, token)

  // The snapshot lacks the acknowledged revocation.
  await cluster.stopRedis()
  await cluster.startRedis({ keepsData: false })
  await awaitChannel(cluster, 'up')
  await cluster.gateways[1]?.restart()
  await awaitChannel(cluster, 'up')
  t.same(await statuses(cluster, token), [401, 401], 'the authorization server revoked the token again')
  t.same(await statuses(cluster, other), [201, 201])

  await cluster.stopRedis()
  rmSync(join(cluster.redisFolder, 'dump.rdb'))
  await cluster.startRedis({ keepsData: false })
  await awaitChannel(cluster, 'up')
  t.same(await statuses(cluster, token), [401, 401])
  await denied(cluster, other, TOLD_MS)
})

t.test(
  'with Redis and an event stream, gateways receive revocations also while they cannot reach Redis',
  async (t) => {
    const cluster = await startOnRedis(t, { eventStream: true })
    const token = await knownToken(t, cluster)
    await cluster.way.down()
    for (const { url } of cluster.gateways) {
      const log = join(cluster.folder, `gateway-${new URL(url).port}.log`)
      const lost = /"event":"revocations_lost","channel":"redis"/
      await until('the redis channel is lost', async () => lost.test(readFileSync(log, 'utf8')))
    }
    await awaitChannel(cluster, 'up')
    t.equal((await cluster.client.revoke(token)).status, 200)
    await denied(cluster, token, TOLD_MS)
  },
)

t.test('without Redis: the event stream resumes after a restart of the authorization server', async (t) => {
  const cluster = await startOnSqlite(t)
  await awaitChannel(cluster, 'up')
  const kept = await knownToken(t, cluster)
  const token = await knownToken(t, cluster)
  t.equal((await cluster.client.revoke(token)).status, 200)
  await denied(cluster, token, TOLD_MS)
  const gone = await endGrants(t, cluster)
  const revokedInGap = await knownToken(t, cluster)
  const [gateway] = cluster.gateways.slice(-1)
  if (gateway === undefined) return
  process.kill(gateway.process.pid, 'SIGSTOP')
  t.equal((await cluster.client.revoke(revokedInGap)).status, 200)
  await cluster.servers[0]?.restart()
  process.kill(gateway.process.pid, 'SIGCONT')
  await denied(cluster, revokedInGap)
  await awaitChannel(cluster, 'up')
  for (const one of cluster.gateways)
    t.equal(await one.metric('scopegate_revocation_gaps_total'), 1, 'only the gap at start-up')
  for (const one of [token, ...gone]) t.same(await statuses(cluster, one), [401, 401])
  t.same(await statuses(cluster, kept), [201, 201])
  await cluster.servers[0]?.restart({ SCOPEGATE_DEVELOPMENT: 'false' })
  await denied(cluster, kept) // the account and its grants are deleted
})
