import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import type { CredentialConfig } from '../../gateway/upstreams/credentials/open-access.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

t.jobs = 4 // each test starts its own gateway and needs little CPU time

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET, POST], path: "/pub/**" } }
  - { name: live, match: { methods: [GET], path: /live }, websocket: true }
  - { name: changed, match: { methods: [GET], path: /changed }, headers: { request: { set: { X-Api-Key: of-the-policy } } } }
  - { name: forwarded, match: { methods: [GET], path: /forwarded }, upstreamAuth: forward, scopes: { all: [courses:read] }, anonymous: deny }
`

function makeSecret(): string {
  const secret = randomBytes(18).toString('base64url')
  recordCredential(secret)
  return secret
}

type Kind =
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'basic'; readonly username: string }

async function start(
  t: Test,
  kind: Kind,
  urls?: readonly string[],
  secret = makeSecret(),
): Promise<GatewayUnderTest & { readonly file: string; readonly secret: string }> {
  const file = join(mkdtempSync(join(tmpdir(), 'scopegate-credentials-')), 'secret')
  t.teardown(() => rmSync(dirname(file), { recursive: true, force: true }))
  writeFileSync(file, `${secret}\n`)
  const setting = 'upstreams.api.credentials'
  const credentials: CredentialConfig = { ...kind, file, setting, secret }
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api' ? { ...one, urls: urls ?? one.urls, credentials, openapiPath: '/openapi' } : one,
      ),
    }),
  })
  return { ...under, file, secret }
}

t.test(
  'the gateway sends an API key, and removes every spelling of its header from the request',
  async (t) => {
    const { gateway, upstream, secret, raw } = await start(t, { kind: 'header', name: 'X-Api-Key' })
    const get = (line: string): Promise<string> =>
      raw(`GET /pub/x HTTP/1.1\r\nhost: api.test\r\n${line}\r\n\r\n`)
    const spellings = ['x-api-key', 'X-API-KEY', 'x_api_key', 'X_Api-Key', 'x!api!key']
    for (const spelling of spellings) {
      t.match(await get(`${spelling}: of-the-client\r\nconnection: close`), 'HTTP/1.1 200')
      t.same(upstream.seen('x-api-key'), [secret], spelling)
      t.notMatch(upstream.bytes, 'of-the-client', spelling)
    }
    t.match(await get('connection: close, x-api-key'), 'HTTP/1.1 200')
    t.same(upstream.seen('x-api-key'), [secret], 'a client cannot nominate the header')
    await send(`${gateway.url}/changed`)
    t.same(upstream.seen('x-api-key'), [secret], 'a policy cannot replace the header')
    await send(`${gateway.url}/pub/x`, { method: 'POST', body: 'a body' })
    t.same(upstream.seen('x-api-key'), [secret])
    t.equal(upstream.requests.at(-1)?.body, 'a body')
    t.equal(
      upstream.requests
        .find(({ target }) => target === '/openapi')
        ?.headers.some(([name, value]) => name.toLowerCase() === 'x-api-key' && value === secret),
      true,
      'the OpenAPI document needs the key too',
    )
  },
)

t.test('the gateway sends Basic credentials in place of the token of the caller', async (t) => {
  const { gateway, upstream, issuer, secret } = await start(t, { kind: 'basic', username: 'gateway' })
  const basic = `Basic ${Buffer.from(`gateway:${secret}`).toString('base64')}`
  recordCredential(basic.slice('Basic '.length))
  for (const path of ['/pub/x', '/forwarded']) {
    const token = issuer.store(`token-of-${path}`, { scope: 'courses:read' })
    const response = await send(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    t.equal(response.status, 200)
    t.same(upstream.seen('authorization'), [basic], path)
    t.notMatch(upstream.bytes, token)
  }
})

t.test('the client gets no challenge that concerns the credentials of the gateway', async (t) => {
  const challenge = 'Bearer error="invalid_token"'
  for (const [kind, forwardedStatus] of [
    [{ kind: 'header', name: 'X-Api-Key' }, 401],
    [{ kind: 'basic', username: 'gateway' }, 502],
  ] as const) {
    const { gateway, upstream, issuer, log, raw } = await start(t, kind)
    upstream.reply(
      `HTTP/1.1 401 Unauthorized\r\nwww-authenticate: ${challenge}\r\ncontent-length: 4\r\n\r\ndeny`,
    )
    const token = issuer.store('token-of-the-caller', { scope: 'courses:read' })
    const rejected = await send(`${gateway.url}/pub/x`, { token })
    t.equal(rejected.status, 502)
    t.equal(rejected.headers.get('www-authenticate'), null)
    const handshake =
      'GET /live HTTP/1.1\r\nhost: api.test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
    const handshakeReply = await raw(handshake)
    t.match(handshakeReply, 'HTTP/1.1 502')
    t.notMatch(handshakeReply, /^www-authenticate/im)
    t.equal(rejected.json['error'], 'upstream_unavailable')
    t.match(rejected.json['error_description'], /rejects the credentials of the gateway/)
    await until('the access log has the cause', async () =>
      log().some(
        (line) =>
          line['error.type'] === 'upstream_credentials_rejected' && line['http.response.status_code'] === 502,
      ),
    )
    const forwarded = await send(`${gateway.url}/forwarded`, { token })
    t.equal(forwarded.status, forwardedStatus, 'only with the API key, the upstream gets the token too')
    t.equal(forwarded.headers.get('www-authenticate'), forwardedStatus === 401 ? challenge : null)
    const stepUp = 'Bearer error="insufficient_scope", scope="of-the-gateway"'
    upstream.reply(`HTTP/1.1 403 Forbidden\r\nwww-authenticate: ${stepUp}\r\ncontent-length: 0\r\n\r\n`)
    const denied = await send(`${gateway.url}/pub/x`, { token })
    t.equal(denied.status, 403)
    t.equal(denied.headers.get('www-authenticate'), null)
    const deniedToken = await send(`${gateway.url}/forwarded`, { token })
    t.equal(deniedToken.headers.get('www-authenticate'), forwardedStatus === 401 ? stepUp : null)
  }
})

t.test('rejected credentials keep the connection to the upstream, unless the response is long', async (t) => {
  const { gateway, upstream } = await start(t, { kind: 'header', name: 'X-Api-Key' })
  const reply = (framing: string, body: string): void =>
    upstream.reply(`HTTP/1.1 401 Unauthorized\r\n${framing}\r\n\r\n${body}`)
  for (const [framing, body] of [
    ['content-length: 4', 'deny'],
    ['content-length: 0', ''],
    ['transfer-encoding: chunked', '4\r\ndeny\r\n0\r\n\r\n'],
  ] as const) {
    reply(framing, body)
    for (const method of ['GET', 'POST'])
      t.equal((await send(`${gateway.url}/pub/x`, { method })).status, 502)
    t.equal(upstream.connections, 1, framing)
  }
  reply('content-length: 1000000', 'deny'.repeat(5_000))
  t.equal((await send(`${gateway.url}/pub/x`)).status, 502, 'the gateway does not wait for the rest')
  upstream.reply(OK_REPLY)
  t.equal((await send(`${gateway.url}/pub/x`)).status, 200)
  t.equal(upstream.connections, 2)
})

t.test('an upstream without credentials gets no header of another upstream', async (t) => {
  const { gateway, authorizationServer, secret } = await start(t, { kind: 'header', name: 'X-Api-Key' })
  await send(`${gateway.url}/api/oauth/token`, { form: { grant_type: 'x' } })
  t.equal(authorizationServer.requests.length, 1)
  t.notMatch(authorizationServer.bytes, secret)
})

t.test('the client gets no response header with the credential', async (t) => {
  const { gateway, upstream, secret } = await start(t, { kind: 'header', name: 'X-Api-Key' })
  upstream.reply(
    OK_REPLY.replace(
      '\r\n\r\n',
      `\r\nx-api-key: another\r\nx_api_key: another\r\nx-debug: key=${secret}\r\nset-cookie: a=1\r\nset-cookie: b=${secret}\r\nx-kept: yes\r\n\r\n`,
    ),
  )
  const { status, headers } = await send(`${gateway.url}/pub/x`)
  t.equal(status, 200)
  t.equal(headers.get('x-kept'), 'yes')
  t.same(headers.getSetCookie(), ['a=1'])
  const text = JSON.stringify([...headers])
  t.notMatch(text, /another/)
  t.notMatch(text, secret)
})

t.test('the client gets no early hint with the credential', async (t) => {
  const { upstream, secret, raw } = await start(t, { kind: 'header', name: 'X-Api-Key' })
  for (const [key, isSent] of [
    ['of-the-client', true],
    [secret, false],
  ] as const) {
    upstream.reply(`HTTP/1.1 103 Early Hints\r\nlink: </a?key=${key}>; rel=preload\r\n\r\n${OK_REPLY}`)
    const received = await raw('GET /pub/x HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n\r\n')
    t.match(received, 'HTTP/1.1 200')
    t.equal(received.includes(key), isSent)
  }
})

t.test('the client gets no response header with the credential without its scheme', async (t) => {
  const key = makeSecret()
  for (const [kind, seen] of [
    [
      { kind: 'basic', username: 'gateway' },
      (secret: string) => Buffer.from(`gateway:${secret}`).toString('base64'),
    ],
    [{ kind: 'header', name: 'Authorization' }, () => key],
  ] as const) {
    const { gateway, upstream, secret } = await start(
      t,
      kind,
      undefined,
      kind.kind === 'header' ? `Bearer ${key}` : undefined,
    )
    recordCredential(seen(secret))
    upstream.reply(OK_REPLY.replace('\r\n\r\n', `\r\nx-debug: ${seen(secret)}\r\nx-kept: yes\r\n\r\n`))
    const { headers } = await send(`${gateway.url}/pub/x`)
    t.equal(headers.get('x-kept'), 'yes')
    t.equal(headers.has('x-debug'), false, kind.kind)
  }
})

t.test('a WebSocket handshake has the credential', async (t) => {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const { gateway, secret } = await start(t, { kind: 'header', name: 'X-Api-Key' }, [live.url])
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/live`, {
    headers: { 'x-api-key': 'of-the-client' },
  })
  t.teardown(() => socket.close())
  await until('the handshake arrives', async () => live.handshakes.length > 0)
  t.equal(live.handshakes[0]?.headers['x-api-key'], secret)
})

t.test('a changed file takes effect, and a vanished or invalid file keeps the last secret', async (t) => {
  const under = await start(t, { kind: 'header', name: 'X-Api-Key' })
  const { gateway, upstream, file, secret } = under
  const metric = 'scopegate_secret_file_usable{setting="upstreams.api.credentials"}'
  const usable = async (value: number): Promise<boolean> =>
    (await send(`${gateway.managementUrl}/metrics`)).text.includes(`${metric} ${value}`)
  t.equal(await usable(1), true)

  rmSync(file)
  await until('the loss is noticed', () => usable(0))
  await send(`${gateway.url}/pub/x`)
  t.same(upstream.seen('x-api-key'), [secret])
  const ready = await send(`${gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200)
  t.match(
    ready.text,
    /\[!\] secret files: .*secret: the file cannot be read \(ENOENT\): the earlier secret stays/,
  )

  const next = makeSecret()
  writeFileSync(file, next)
  await until('the new secret is in use', async () => {
    await send(`${gateway.url}/pub/x`)
    return upstream.seen('x-api-key')[0] === next
  })
  upstream.reply(OK_REPLY.replace('\r\n\r\n', `\r\nx-debug: ${secret}\r\nx-other: ${next}\r\n\r\n`))
  const { headers } = await send(`${gateway.url}/pub/x`)
  t.same([headers.get('x-debug'), headers.get('x-other')], [null, null], 'both secrets can be valid')
  t.equal(await usable(1), true)

  writeFileSync(file, `${makeSecret()}\r\nx-auth-subject: root`)
  await until('the invalid content is noticed', () => usable(0))
  await send(`${gateway.url}/pub/x`)
  t.same(upstream.seen('x-api-key'), [next])
  const events = under.log().map(({ event }) => event)
  t.equal(events.filter((event) => event === 'secret_unusable').length, 2)
  t.ok(events.includes('secret_reloaded'))
})
