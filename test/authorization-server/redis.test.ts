import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { knownClient, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { until } from '../fixtures/until.ts'

// Two replicas: authorization servers with the same issuer, Redis, signing keys and cookie keys.
const folder = mkdtempSync(join(tmpdir(), 'scopegate-redis-'))
const redis = await startRedis({ folder })
let isRunning = true
t.teardown(async () => {
  if (isRunning) await redis.stop()
  rmSync(folder, { recursive: true })
})

const store = { store: { type: 'redis' }, redis: { url: redis.url } } as const
const one = await startServer(t, store)
const keys = mkdtempSync(join(tmpdir(), 'scopegate-keys-'))
for (const name of ['signing-keys.json', 'cookie-keys', 'gateway-client-secret'])
  copyFileSync(join(one.dataDir, name), join(keys, name))
t.teardown(() => rmSync(keys, { recursive: true }))
const port = await quietPort()
const other = await startServer(t, {
  ...store,
  issuer: one.baseUrl,
  listen: { host: '127.0.0.1', port },
  dataDir: keys,
})
const atOther = { ...other, baseUrl: `http://127.0.0.1:${port}` }
const client = await registerClient(one)
const sameClient = knownClient(atOther, client)
const browser = openBrowser(one.baseUrl)
const way = await startFaultProxy(redis.port)
t.teardown(() => way.close())
const lossyPort = await quietPort()
await startServer(t, {
  ...store,
  redis: { url: `redis://127.0.0.1:${way.port}` },
  issuer: one.baseUrl,
  listen: { host: '127.0.0.1', port: lossyPort },
  dataDir: keys,
})
const atLossy = knownClient({ ...other, baseUrl: `http://127.0.0.1:${lossyPort}` }, client)
const isActive = async (token: string): Promise<boolean> => {
  const form = { client_id: 'gateway', client_secret: one.gatewaySecret, token }
  return (await send(`${atOther.baseUrl}${ENDPOINTS.introspection}`, { form })).json['active'] === true
}

t.test('of 100 exchanges of one code at two servers, one gets 200, and its tokens are revoked', async (t) => {
  const grant = await client.obtainCode({ browser, scope: 'openid' })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? client : sameClient).exchange(grant)),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  t.same(new Set(answers.map(({ json }) => json['error'])), new Set([undefined, 'invalid_grant']))
  for (const answer of won) t.notOk(await isActive(client.readTokens(answer).accessToken))
})

t.test('200 uses of one refresh token at two servers get one response', async (t) => {
  const { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      // Repeats a refresh after status 503, because Redis can respond too late on a busy machine.
      until('the response is not 503', async () => {
        const answer = await (index % 2 === 0 ? client : sameClient).refresh(refreshToken)
        return answer.status === 503 ? undefined : answer
      }),
    ),
  )
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  const [answer] = answers
  if (answer === undefined) return
  const successor = client.readTokens(answer)
  t.ok(await isActive(successor.accessToken))
  t.equal((await sameClient.refresh(refreshToken)).text, answer.text, 'a later use at either server')
  const next = await sameClient.refresh(successor.refreshToken)
  t.equal(next.status, 200)
  client.readTokens(next)
})

t.test(
  'the stored response is encrypted, expires with the window and is deleted with the grant',
  async (t) => {
    const { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
    const direct = new Redis(redis.url)
    t.teardown(() => direct.disconnect())
    const responses = () => direct.keys('{scopegate}:artifact:RefreshResponse:*')
    const before = await responses()
    const successor = client.readTokens(await client.refresh(refreshToken))
    const [key = '', ...others] = (await responses()).filter((one) => !before.includes(one))
    t.same(others, [])
    const ttl = await direct.ttl(key)
    t.ok(ttl > 0 && ttl <= 30, `expires in ${ttl} s`)
    const stored = JSON.stringify(await direct.hgetall(key)) + key
    for (const secret of [refreshToken, successor.accessToken, successor.refreshToken])
      t.notMatch(stored, secret)
    t.equal((await sameClient.revoke(successor.refreshToken)).status, 200)
    t.notOk((await responses()).includes(key))
    t.match(await client.refresh(refreshToken), { status: 400, json: { error: 'invalid_grant' } })
  },
)

t.test('without a repeat window every second use ends the grant, also on Redis', async (t) => {
  const strictPort = await quietPort()
  await startServer(t, {
    ...store,
    issuer: one.baseUrl,
    listen: { host: '127.0.0.1', port: strictPort },
    dataDir: keys,
    refreshTokens: { repeatWindowSeconds: 0 },
  })
  const atStrict = knownClient({ ...other, baseUrl: `http://127.0.0.1:${strictPort}` }, client)
  const { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const successor = client.readTokens(await atStrict.refresh(refreshToken))
  const rejected = { status: 400, json: { error: 'invalid_grant' } }
  t.match(await atStrict.refresh(refreshToken), rejected)
  t.match(await atStrict.refresh(successor.refreshToken), rejected)
})

t.test(
  'a refresh without a response of the store gets 503, and its repetition gets the stored response',
  async (t) => {
    const { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
    way.toClient({ blackHole: true })
    const lost = await atLossy.refresh(refreshToken)
    t.match(lost, { status: 503, json: { error: 'temporarily_unavailable' } })
    t.ok(lost.headers.has('retry-after'))
    way.heal()
    way.reset()
    const answer = await client.refresh(refreshToken)
    t.equal(answer.status, 200)
    const successor = client.readTokens(answer)
    const again = await until('the store is available again', async () => {
      const repeat = await atLossy.refresh(refreshToken)
      return repeat.status === 503 ? undefined : repeat
    })
    t.equal(again.text, answer.text)
    t.ok(await isActive(successor.accessToken))
  },
)

t.test('a token of one server is revoked at the other', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'openid' })
  t.ok(await isActive(accessToken))
  t.equal((await sameClient.revoke(accessToken)).status, 200)
  t.notOk(await isActive(accessToken))
})

t.test(
  'without its store the server responds with 503, stays ready, and returns metadata and keys',
  async (t) => {
    const { accessToken, refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
    isRunning = false
    await redis.stop()
    for (const answer of [
      await client.revoke(refreshToken),
      await client.refresh(refreshToken),
      await send(`${one.baseUrl}${ENDPOINTS.userinfo}`, { token: accessToken }),
      await send(`${one.baseUrl}${ENDPOINTS.registration}`, {
        json: { redirect_uris: [client.redirectUri] },
      }),
    ]) {
      t.match(answer, { status: 503, json: { error: 'temporarily_unavailable' } })
      t.ok(answer.headers.has('retry-after'))
      t.notMatch(answer.text, /ECONNREFUSED|redis/i)
    }
    const page = await browser.visit(client.authorizeUrl('openid', 'x'.repeat(43)))
    t.match(page, { left: false, status: 503, html: /does not work right now/ })
    t.ok(page.left === false && page.headers.has('retry-after'))
    for (const path of [ENDPOINTS.authorizationServerMetadata, ENDPOINTS.openidConfiguration, ENDPOINTS.jwks])
      t.equal((await send(`${one.baseUrl}${path}`)).status, 200, path)
    const ready = await until('readiness shows the outage', async () => {
      const answer = await send(`${one.managementUrl}/readyz?verbose`)
      return answer.text.includes('[!] store: away') && answer
    })
    t.equal(ready.status, 200)
    t.match(ready.text, /^\[\+\] accepting\n\[!\] store: away: .*\nok \(degraded\)\n$/)
    t.equal((await send(`${one.managementUrl}/livez`)).status, 200)
    const { text } = await send(`${one.managementUrl}/metrics`)
    t.match(text, /^scopegate_oauth_store_writable 0$/m)
    t.match(text, /^scopegate_oauth_store_errors_total\{reason="away"\} [1-9]/m)
    const degraded = one.log().filter(({ event }) => event === 'store_degraded')
    t.match(degraded, [{ reason: 'away', level: 'warn' }])
    t.equal(degraded.length, 1)
  },
)
