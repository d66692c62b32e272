import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { knownClient, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { quietPort } from '../fixtures/start-scopegate.ts'

// Two authorization servers with one issuer share Redis, keys and cookies, as two replicas do.
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
const isActive = async (token: string): Promise<boolean> => {
  const form = { client_id: 'gateway', client_secret: one.gatewaySecret, token }
  return (await send(`${atOther.baseUrl}${ENDPOINTS.introspection}`, { form })).json['active'] === true
}

t.test('100 exchanges of one code at two servers: one 200, and its tokens die', async (t) => {
  const grant = await client.obtainCode({ browser, scope: 'openid' })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? client : sameClient).exchange(grant)),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  t.same(new Set(answers.map(({ json }) => json['error'])), new Set([undefined, 'invalid_grant']))
  for (const answer of won) t.notOk(await isActive(client.readTokens(answer).accessToken))
})

t.test('100 uses of one refresh token at two servers: at most one successor', async (t) => {
  const { refreshToken } = await client.obtainTokens({ browser, scope: 'openid' })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? client : sameClient).refresh(refreshToken)),
  )
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  t.same(new Set(answers.map(({ json }) => json['error'])), new Set([undefined, 'invalid_grant']))
  for (const answer of won) client.readTokens(answer)
})

t.test('a token of one server is revoked at the other', async (t) => {
  const { accessToken } = await client.obtainTokens({ browser, scope: 'openid' })
  t.ok(await isActive(accessToken))
  t.equal((await sameClient.revoke(accessToken)).status, 200)
  t.notOk(await isActive(accessToken))
})

t.test(
  'without its store the server says 503 and is not ready; nothing is claimed to be revoked',
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
    t.equal((await send(`${one.managementUrl}/readyz`)).status, 503)
    t.equal((await send(`${one.managementUrl}/livez`)).status, 200)
  },
)
