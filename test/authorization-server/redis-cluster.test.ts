import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { startCluster } from '../fixtures/redis-cluster.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { until } from '../fixtures/until.ts'

const folder = t.testdir()
const cluster = await startCluster(join(folder, 'cluster'), {
  replicas: false,
  args: ['--cluster-require-full-coverage', 'no'],
})
t.teardown(() => cluster.stop())
/** The words after `ACL` in the command of docs/connect-redis.md. */
const PERMISSIONS = documentedBlock('docs/connect-redis.md', '+cluster|slots')
  .trim()
  .replace('ACL ', '')
  .replace('PASSWORD', 's3cret')
  .split(' ')

t.test(
  'with the documented permissions, a server on a Redis Cluster issues and revokes tokens',
  async (t) => {
    for (const { redis } of cluster.nodes) await redis.call('ACL', ...PERMISSIONS)
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, 's3cret\n')
    const server = await startServer(t, {
      store: { type: 'redis' },
      redis: { cluster: { addresses: cluster.addresses }, username: 'scopegate', passwordFile },
    })
    const client = await registerClient(server)
    const tokens = await client.obtainTokens({
      browser: openBrowser(server.baseUrl),
      scope: 'openid courses:read',
    })
    const refreshed = await client.refresh(tokens.refreshToken)
    t.equal(refreshed.status, 200)
    t.equal((await client.revoke(client.readTokens(refreshed).accessToken)).status, 200)
    t.equal((await client.refresh(client.readTokens(refreshed).refreshToken)).status, 400)
  },
)

t.test(
  'while a shard is unavailable, requests that need this shard get 503, and other requests succeed',
  async (t) => {
    const server = await startServer(t, {
      store: { type: 'redis' },
      redis: { cluster: { addresses: cluster.addresses } },
    })
    // A refresh uses keys of several shards, so few refreshes succeed without one shard. An introspection uses keys of
    // fewer shards.
    const grants: (() => Promise<readonly Answer[]>)[] = []
    for (let index = 0; index < 32; index++) {
      const client = await registerClient(server)
      const { accessToken, refreshToken } = await client.obtainTokens({
        browser: openBrowser(server.baseUrl),
        scope: 'openid courses:read',
      })
      const form = { token: accessToken, client_id: 'gateway', client_secret: server.gatewaySecret }
      grants.push(async () => [
        await send(`${server.baseUrl}${ENDPOINTS.introspection}`, { form }),
        await client.refresh(refreshToken),
      ])
    }
    await cluster.nodes[2]?.kill()
    const statuses = new Set<number>()
    await until('a grant of the lost shard and one of another shard', async () => {
      for (const use of grants)
        for (const answer of await use()) {
          statuses.add(answer.status)
          if (answer.status === 503 && answer.headers.get('retry-after') === null)
            throw new Error('no Retry-After')
        }
      return statuses.has(503) && statuses.has(200)
    })
    t.strictSame(statuses.difference(new Set([200, 503])), new Set())
  },
)
