import t, { type Test } from 'tap'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../../../oauth/endpoints.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { type AuthorizationServer, startServer } from '../../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)

t.test('only the gateway may listen', async (t) => {
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

t.test('HEAD is answered at once: it cannot listen', async (t) => {
  const answer = await send(`${server.baseUrl}${REVOCATION_STREAM_PATH}`, {
    method: 'HEAD',
    headers: { authorization: `Basic ${btoa(`gateway:${server.gatewaySecret}`)}` },
  })
  t.equal(answer.status, 404)
  const { text } = await send(`${server.managementUrl}/metrics`)
  t.match(text, /^scopegate_oauth_revocation_listeners 0$/m)
})

t.test(
  'a revoked token, a reused refresh token and a reused code are told by the grant of introspection',
  async (t) => {
    const events = await listen(t, server)
    t.same(await events.next(), { event: 'ready', data: {} })
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
    t.same(await events.next(), { event: 'revoked', data: { grant } })

    const refreshed = await client.obtainTokens({ browser, scope: 'courses:read' })
    const family = await grantOf(refreshed.accessToken)
    client.readTokens(await client.refresh(refreshed.refreshToken))
    await client.refresh(refreshed.refreshToken)
    t.same(await events.next(), { event: 'revoked', data: { grant: family } })

    const code = await client.obtainCode({ browser, scope: 'courses:read' })
    const exchanged = client.readTokens(await client.exchange(code))
    const replayed = await grantOf(exchanged.accessToken)
    await client.exchange(code)
    t.same(await events.next(), { event: 'revoked', data: { grant: replayed } })
  },
)

t.test('listeners are counted, and the stream ends when the server stops', async (t) => {
  const stopping = await startServer(t)
  const events = await listen(t, stopping)
  await events.next()
  const { text } = await send(`${stopping.managementUrl}/metrics`)
  t.match(text, /^scopegate_oauth_revocation_listeners 1$/m)
  await stopping.stop()
  t.equal(await events.next(), undefined)
})

/** Listens as a gateway does. */
async function listen(t: Test, to: AuthorizationServer) {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const response = await fetch(`${to.baseUrl}${REVOCATION_STREAM_PATH}`, {
    headers: { authorization: `Basic ${btoa(`gateway:${to.gatewaySecret}`)}` },
    signal: abort.signal,
  })
  t.equal(response.status, 200)
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let buffered = ''
  return {
    next: async (): Promise<{ event: string; data: unknown } | undefined> => {
      while (!buffered.includes('\n\n')) {
        const chunk = await reader?.read()
        if (chunk === undefined || chunk.done) return undefined
        buffered += chunk.value
      }
      const [block = '', ...rest] = buffered.split('\n\n')
      buffered = rest.join('\n\n')
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      return { event: field('event'), data: JSON.parse(field('data')) }
    },
  }
}
