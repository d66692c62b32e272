import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { awaitChannel, startRevocationCluster } from '../../bench/soak/revocation-cluster.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { knownClient, registerClient } from '../fixtures/register-client.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

const AHEAD_SECONDS = 7_200
const scope = 'openid courses:read'

t.test('a server whose clock is two hours ahead revokes tokens, and reports the difference', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir({ redis: {} })
  t.teardown(() => cleanup.run())
  const redis = await startRedis({ folder: join(folder, 'redis') })
  cleanup.add(() => redis.stop())
  const secret = (value: string | undefined): void => {
    if (value !== undefined) recordCredential(value)
  }
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    secret,
    gateways: 1,
    servers: 2,
    redis: { ofServers: redis.url, ofGateways: redis.url },
    eventStream: false,
  })
  const { client, gateways, servers } = cluster
  const [gateway] = gateways
  const ahead = servers[1]
  if (gateway === undefined || ahead === undefined) return
  await ahead.restart({
    NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, '../fixtures/clock-ahead.ts'))}`,
    TEST_CLOCK_AHEAD_SECONDS: String(AHEAD_SECONDS),
  })
  await awaitChannel(cluster, 'up')
  const browser = openBrowser(gateway.url)
  const atAhead = knownClient({ baseUrl: ahead.url, secret }, client)

  for (const name of ['accessToken', 'refreshToken'] as const) {
    const tokens = await client.obtainTokens({ browser, scope })
    t.equal(await gateway.statusOf(tokens.accessToken), 201)
    t.equal((await atAhead.revoke(tokens[name])).status, 200)
    await until(
      'the gateway denies the token',
      async () => (await gateway.statusOf(tokens.accessToken)) === 401,
    )
    t.match(await client.refresh(tokens.refreshToken), { status: 400, json: { error: 'invalid_grant' } })
  }

  const { refreshToken } = await client.obtainTokens({ browser, scope })
  const answer = await client.refresh(refreshToken)
  client.readTokens(answer)
  t.equal(
    (await atAhead.refresh(refreshToken)).text,
    answer.text,
    'the repeat window is also open on that server',
  )

  const difference = await ahead.metric('scopegate_oauth_store_clock_difference_seconds')
  t.ok(Math.abs(difference - AHEAD_SECONDS) < 600, `${difference} s`)
  const log = readdirSync(folder).find((file) => file.endsWith(`${new URL(ahead.url).port}.log`)) ?? ''
  const lines = readFileSync(join(folder, log), 'utf8').match(/"event":"clock_differs"/g) ?? []
  t.equal(lines.length, 1)
})

t.test('on SQLite, a token can be revoked after the clock jumps two hours ahead', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const tokens = await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope })
  const now = Date.now
  t.intercept(Date, 'now', { value: () => now() + AHEAD_SECONDS * 1_000 })
  t.equal((await client.revoke(tokens.accessToken)).status, 200)
  t.intercept(Date, 'now', { value: now })
  t.equal((await introspect(server, tokens.accessToken))['active'], false)
  t.match(await client.refresh(tokens.refreshToken), { status: 400, json: { error: 'invalid_grant' } })
})
