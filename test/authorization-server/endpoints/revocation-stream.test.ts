import t from 'tap'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../../oauth/endpoints.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { listenForRevocations } from '../../fixtures/listen-for-revocations.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)
const gateway = { url: server.baseUrl, secret: server.gatewaySecret }

t.test('only the gateway may open the stream', async (t) => {
  const basic = (credentials: string) => `Basic ${btoa(credentials)}`
  for (const authorization of [
    undefined,
    'Basic',
    'Basic !!!',
    `Bearer ${server.gatewaySecret}`,
    basic('gateway:wrong'),
    basic(`gateway:${server.gatewaySecret}x`),
    basic(`gateway${server.gatewaySecret}`),
    basic(`somebody:${server.gatewaySecret}`),
    basic(`${client.clientId}:`),
  ]) {
    const answer = await send(`${server.baseUrl}${REVOCATION_STREAM_PATH}`, {
      headers: authorization === undefined ? {} : { authorization },
    })
    t.match(answer, { status: 401, json: { error: 'invalid_client' } }, authorization ?? 'none')
    t.match(answer.headers.get('www-authenticate'), /^Basic /)
  }
})

t.test('a HEAD request gets an immediate response without a stream', async (t) => {
  const answer = await send(`${server.baseUrl}${REVOCATION_STREAM_PATH}`, {
    method: 'HEAD',
    headers: { authorization: `Basic ${btoa(`gateway:${server.gatewaySecret}`)}` },
  })
  t.equal(answer.status, 404)
  const { text } = await send(`${server.managementUrl}/metrics`)
  t.match(text, /^scopegate_oauth_revocation_listeners 0$/m)
})

t.test(
  'events for revoked tokens and reused refresh tokens and codes contain the grant that introspection returns',
  async (t) => {
    const events = await listenForRevocations(t, gateway)
    t.match(await events.next(), {
      event: 'ready',
      id: /^[0-9a-f]{16}\.\d+\.[0-9a-f]{16}$/,
      data: { resumed: false, replays: true },
    })
    t.match(await events.next(), { event: 'complete' }, 'the log is empty')
    const grantOf = async (token: string) =>
      (
        await send(`${server.baseUrl}${ENDPOINTS.introspection}`, {
          form: { client_id: 'gateway', client_secret: server.gatewaySecret, token },
        })
      ).json['grant']

    const revoked = await client.obtainTokens({ browser, scope: 'courses:read' })
    const grant = await grantOf(revoked.accessToken)
    t.match(grant, /^[\w-]{43}$/)
    await client.revoke(revoked.accessToken)
    t.match(await events.next(), { event: 'revoked', data: { iss: server.baseUrl, grant } })

    const refreshed = await client.obtainTokens({ browser, scope: 'courses:read' })
    const family = await grantOf(refreshed.accessToken)
    client.readTokens(await client.refresh(refreshed.refreshToken))
    const other = await registerClient(server)
    await other.refresh(refreshed.refreshToken)
    t.match(await events.next(), { event: 'revoked', data: { iss: server.baseUrl, grant: family } })

    const code = await client.obtainCode({ browser, scope: 'courses:read' })
    const exchanged = client.readTokens(await client.exchange(code))
    const replayed = await grantOf(exchanged.accessToken)
    await client.exchange(code)
    t.match(await events.next(), { event: 'revoked', data: { iss: server.baseUrl, grant: replayed } })
  },
)

t.test('counts listeners, and closes the stream when the server stops', async (t) => {
  const stopping = await startServer(t)
  const events = await listenForRevocations(t, { url: stopping.baseUrl, secret: stopping.gatewaySecret })
  await events.next()
  await events.next()
  const { text } = await send(`${stopping.managementUrl}/metrics`)
  t.match(text, /^scopegate_oauth_revocation_listeners 1$/m)
  await stopping.stop()
  t.equal(await events.next(), undefined)
})

t.test('a reconnect with the last ID receives exactly the events of the gap, in order', async (t) => {
  const before = await listenForRevocations(t, gateway)
  const { id = '' } = (await before.next()) ?? {}
  before.stop()
  const expected: string[] = []
  for (let i = 0; i < 3; i++) {
    const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
    expected.push(String((await introspect(server, accessToken))['grant']))
    await client.revoke(accessToken)
  }
  const after = await listenForRevocations(t, { ...gateway, lastEventId: id })
  t.match(await after.next(), { event: 'ready', id, data: { resumed: true } })
  let last = ''
  for (const grant of expected) {
    const event = await after.next()
    t.match(event, { event: 'revoked', data: { grant } })
    last = event?.id ?? ''
  }
  t.match(await after.next(), { event: 'replayed' })
  const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  const grant = (await introspect(server, accessToken))['grant']
  await client.revoke(accessToken)
  t.match(await after.next(), { event: 'revoked', data: { grant } }, 'new events follow')
  const again = await listenForRevocations(t, { ...gateway, lastEventId: last })
  t.match(await again.next(), { event: 'ready', id: last, data: { resumed: true } })
  t.match(await again.next(), { event: 'revoked', data: { grant } })
})

t.test('a new gateway receives all revocations of the log', async (t) => {
  const expected = []
  for (let i = 0; i < 2; i++) {
    const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
    expected.push((await introspect(server, accessToken))['grant'])
    await client.revoke(accessToken)
  }
  for (const lastEventId of [undefined, 'unknown']) {
    const events = await listenForRevocations(
      t,
      lastEventId === undefined ? gateway : { ...gateway, lastEventId },
    )
    t.match(await events.next(), { event: 'ready', data: { resumed: false, replays: true } })
    if (lastEventId !== undefined) t.match(await events.next(), { event: 'reset' })
    const grants: unknown[] = []
    let event = await events.next()
    for (; event?.event === 'revoked'; event = await events.next())
      grants.push((event.data as { grant: unknown }).grant)
    t.strictSame(grants.slice(-2), expected)
    t.match(event, { event: 'complete' })
    events.stop()
  }
})

t.test('a reconnect with an unknown ID receives the instruction to clear the cache', async (t) => {
  for (const lastEventId of [
    '0123456789abcdef.1',
    'junk',
    "1' or '1'='1",
    'A'.repeat(8_000),
    `${'9'.repeat(16)}.${'9'.repeat(15)}`,
    '-',
  ]) {
    const events = await listenForRevocations(t, { ...gateway, lastEventId })
    t.match(await events.next(), { event: 'ready', data: { resumed: false } }, lastEventId)
    t.match(await events.next(), { event: 'reset' }, lastEventId)
    events.stop()
  }
})

t.test('the revocation log persists across a restart of the server', async (t) => {
  const first = await startServer(t)
  const itsClient = await registerClient(first)
  const { accessToken } = await itsClient.obtainTokens({
    browser: openBrowser(first.baseUrl),
    scope: 'courses:read',
  })
  const { grant } = await introspect(first, accessToken)
  const events = await listenForRevocations(t, { url: first.baseUrl, secret: first.gatewaySecret })
  const { id = '' } = (await events.next()) ?? {}
  events.stop()
  await itsClient.revoke(accessToken)
  await first.stop()
  const second = await startServer(t, { dataDir: first.dataDir })
  const resumed = await listenForRevocations(t, {
    url: second.baseUrl,
    secret: second.gatewaySecret,
    lastEventId: id,
  })
  t.match(await resumed.next(), { event: 'ready', id, data: { resumed: true } })
  t.match(await resumed.next(), { event: 'revoked', data: { grant } })
})
