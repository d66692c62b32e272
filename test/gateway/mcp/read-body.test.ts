import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { startFastifyService } from '../../fixtures/a-fastify-service.ts'
import { BASE_URL, pushing, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { startTlsGateway } from '../../fixtures/a-tls-gateway.ts'
import { openHttp2Client } from '../../fixtures/http2-client.ts'
import { type Message, send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

const LIMIT = 64 * 1024
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: tools
upstream: api
defaults: { anonymous: challenge, timeout: 20s, mcp: { readBody: true } }
routes:
  - { name: list, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/list } }, scopes: { all: [courses:read] } }
  - { name: read, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: read } }, scopes: { all: [courses:read] } }
  - { name: write, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: write } }, scopes: { all: [courses:write] } }
  - { name: draft, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: save, mcp-param-state: draft } }, scopes: { all: [courses:read] } }
  - { name: stream, match: { methods: [GET], path: /mcp }, scopes: { all: [courses:read] } }
  - { name: small, match: { methods: [POST], path: /small }, bodyLimit: 32B, scopes: { all: [courses:read] } }
  - { name: slow, match: { methods: [POST], path: /slow }, timeout: 50ms }
  - { name: open, match: { methods: [POST], path: /open, headers: { mcp-method: tools/list } }, anonymous: allow }
  - { name: closed, match: { methods: [POST], path: /open, headers: { mcp-method: tools/call } }, anonymous: deny }
  - { name: audited, match: { methods: [POST], path: /audited }, enforce: report }
  - { name: denied, match: { methods: [POST], path: /denied, headers: { mcp-method: tools/list } }, anonymous: deny }
  - { name: listed, match: { methods: [POST], path: /denied, headers: { mcp-method: ping } } }
  - { name: plain, match: { methods: [POST], path: /plain }, mcp: { readBody: false }, scopes: { all: [courses:read] } }
`
const VERSION = { 'mcp-protocol-version': '2026-07-28' }
const JSON_TYPE = { 'content-type': 'application/json' }

function call(method: string, name?: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    ...(name === undefined ? {} : { params: { name } }),
  })
}

const under = await startGatewayUnderTest(t, { policy: POLICY })
const { gateway, issuer, upstream } = under
const token = issuer.store('token-of-a-reader', { scope: 'courses:read' })

const logged = (type: string) => under.log().filter((line) => line['error.type'] === type).length

/** Posts a message to the MCP path. Returns the answer, and the bodies that reached the upstream. */
async function post(body: string, message: Message & { readonly path?: string } = {}) {
  const before = upstream.requests.length
  const headers = { ...JSON_TYPE, ...message.headers }
  const answer = await send(`${gateway.url}${message.path ?? '/mcp'}`, {
    token,
    ...message,
    method: 'POST',
    headers,
    body,
  })
  return { ...answer, forwarded: upstream.requests.slice(before).map((request) => request.body) }
}

t.test('matches a request without MCP headers by its body, and forwards the same bytes', async (t) => {
  const body =
    ' {"id":1e0, "\\u006dethod":"tools\\/call",\n"params":{"na\\u006de":"read","arguments":{"x":"\u00e9"}}} '
  const allowed = await post(body)
  t.equal(allowed.status, 200)
  t.same(allowed.forwarded, [Buffer.from(body).toString('latin1')])
  t.same(upstream.seen('mcp-name'), [], 'the gateway adds no headers')
  t.same(upstream.seen('content-length'), [String(Buffer.byteLength(body))])

  const denied = await post(call('tools/call', 'write'))
  t.equal(denied.status, 403)
  t.match(denied.json, { error: 'insufficient_scope', scope: 'courses:write' })
  t.same(denied.forwarded, [])
  t.equal((await post(call('tools/call', 'drop'))).status, 404)
  t.equal((await post(call('initialize'))).status, 404, 'the request lacks no header')
})

t.test('names the required revision to a client without Mcp-Param headers', async (t) => {
  const save = call('tools/call', 'save')
  const answer = await post(save)
  // For 404, an MCP client starts a new session.
  t.equal(answer.status, 400)
  t.match(answer.json, { error: 'invalid_request', error_description: /2026-07-28[\s\S]*Mcp-Param/ })
  t.same(answer.forwarded, [])
  const headers = { ...VERSION, 'mcp-param-state': 'draft' }
  t.equal((await post(save, { headers })).status, 200)
  t.equal((await post(save, { headers: { ...headers, 'mcp-param-state': 'other' } })).status, 404)
})

t.test('rejects a client without access before it reads the body', async (t) => {
  const ask = (path: string, headers: string) =>
    under.raw(
      `POST ${path} HTTP/1.1\r\nhost: api.test\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 99\r\n${headers}\r\n`,
    )
  for (const [what, path, headers, expected] of [
    ['no token', '/mcp', '', /^HTTP\/1\.1 401 [\s\S]*Bearer resource_metadata=/],
    ['no token, where one route does not challenge', '/denied', '', /^HTTP\/1\.1 401 (?![\s\S]*metadata)/],
    ['an unknown token', '/mcp', 'authorization: Bearer unknown\r\n', /^HTTP\/1\.1 401 [\s\S]*invalid_token/],
    ['an unknown token on an open path', '/open', 'authorization: Bearer unknown\r\n', /^HTTP\/1\.1 401 /],
    ['an unreadable token', '/mcp', 'authorization: Basic YTpi\r\n', /^HTTP\/1\.1 401 [\s\S]*invalid_token/],
    [
      'two tokens',
      '/mcp',
      `authorization: Bearer ${token}\r\nauthorization: Bearer ${token}\r\n`,
      /^HTTP\/1\.1 400 [\s\S]*exactly one Authorization header/,
    ],
    [
      'a token in the query',
      `/mcp?access_token=${token}`,
      '',
      /^HTTP\/1\.1 400 [\s\S]*Send the access token in the Authorization header/,
    ],
  ] as const)
    t.match(await ask(path, headers), expected, what)
  const challenge = async (path: string) => (await post('garbage', { token: undefined, path })).headers
  t.notMatch((await challenge('/mcp')).get('www-authenticate'), 'scope=', 'the tool is unknown')
  t.match(
    (await challenge('/small')).get('www-authenticate'),
    'scope="courses:read"',
    'all routes require it',
  )
})

t.test('reads the body of a client without a token if a route of the path allows it', async (t) => {
  const ask = (path: string, body: string) => post(body, { token: undefined, path })
  t.equal((await ask('/open', call('tools/list'))).status, 200)
  t.equal((await ask('/open', call('tools/call', 'read'))).status, 401)
  t.equal((await ask('/open', 'garbage')).status, 400)
  t.equal((await ask('/audited', call('tools/call', 'read'))).status, 200)
})

t.test('denies a call whose headers differ from the body', async (t) => {
  const write = call('tools/call', 'write')
  const read = { ...VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'read' }
  const encoded = `=?base64?${btoa('read')}?=`
  for (const [what, body, headers] of [
    ['the name of another tool', write, read],
    ['the name of another tool, without a version', write, { 'mcp-name': 'read' }],
    ['the encoded name of another tool', write, { 'mcp-name': encoded }],
    ['another method', call('tools/list'), { 'mcp-method': 'tools/call' }],
    ['a name that the body lacks', call('tools/list'), { 'mcp-name': 'read' }],
    ['a name in another case', call('tools/call', 'read'), { 'mcp-name': 'Read' }],
    ['two names', call('tools/call', 'read'), { 'mcp-name': 'read, write' }],
    ['another spelling of the header', call('tools/call', 'read'), { mcp_name: 'read' }],
    ['a method that the body lacks', '{"id":1,"result":{}}', { 'mcp-method': 'tools/list' }],
  ] as const) {
    const answer = await post(body, { headers })
    t.equal(answer.status, 400, what)
    t.match(answer.json, { error: 'invalid_request', error_description: /Mcp-Method and Mcp-Name/ }, what)
    t.same(answer.forwarded, [], what)
  }
  await until('the gateway logs the last denial', async () => logged('mcp_headers_differ') === 9)
  t.equal((await post(call('tools/call', 'read'), { headers: read })).status, 200, 'equal headers')
  t.equal((await post(call('tools/call', 'read'), { headers: { 'mcp-name': encoded } })).status, 200)
})

t.test('rejects a body that is not one plain MCP message', async (t) => {
  for (const [what, body, headers] of [
    ['garbage', 'tools/call', {}],
    ['a batch', `[${call('tools/call', 'read')}]`, {}],
    ['a duplicate name', '{"method":"tools/call","params":{"name":"read","na\\u006de":"write"}}', {}],
    ['a name in another case', '{"method":"tools/call","params":{"name":"read","Name":"write"}}', {}],
    ['a prototype', `{"__proto__":${call('tools/call', 'write')}}`, {}],
    ['a lone surrogate', '{"method":"tools/call","params":{"name":"read\\ud800"}}', {}],
    ['deep nesting', '['.repeat(LIMIT), {}],
    ['a form', call('tools/call', 'read'), { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another charset', call('tools/call', 'read'), { 'content-type': 'application/json; charset=utf-7' }],
    ['a coding', call('tools/call', 'read'), { 'content-encoding': 'gzip' }],
    ['no body', '', {}],
  ] as const) {
    const answer = await post(body, { headers })
    t.equal(answer.status, 400, what)
    t.match(answer.json, { error: 'invalid_request' }, what)
    t.same(answer.forwarded, [], what)
  }
  await until('the gateway logs the last rejection', async () => logged('mcp_body_invalid') === 12)
})

t.test('reads at most 64 KiB', async (t) => {
  const ofSize = (size: number) => call('tools/call', 'read').padEnd(size)
  const largest = await post(ofSize(LIMIT))
  t.equal(largest.status, 200)
  t.same(largest.forwarded, [ofSize(LIMIT)])
  const larger = await post(ofSize(LIMIT + 1))
  t.equal(larger.status, 413)
  t.match(larger.json, { error: 'payload_too_large', error_description: /65536 bytes/ })
  t.same(larger.forwarded, [])
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const head = `POST /mcp HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n`
  const before = upstream.requests.length
  t.match(await under.raw(`${head}\r\n${chunk(ofSize(LIMIT))}${chunk(' ')}0\r\n\r\n`), /^HTTP\/1\.1 413 /)
  t.equal(upstream.requests.length, before)
  const chunked = await under.raw(
    `${head}connection: close\r\n\r\n${chunk(ofSize(LIMIT - 1))}${chunk(' ')}0\r\n\r\n`,
  )
  t.match(chunked, /^HTTP\/1\.1 200 /)
  t.equal(upstream.requests.at(-1)?.body, ofSize(LIMIT))
  const small = await post(call('tools/call', 'read'), { path: '/small' })
  t.equal(small.status, 413, 'the limit of the route applies too')
})

t.test('rejects a body that arrives too slowly, and survives a client that leaves', async (t) => {
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{`
  const open = () => connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => undefined)
  const slow = open()
  slow.write(head('/slow'))
  const [response] = await once(slow, 'data')
  t.match(String(response), /^HTTP\/1\.1 408 [\s\S]*\r\nconnection: close\r\n/)
  slow.destroy()
  const left = open()
  await new Promise<void>((resolve) => left.write(head('/mcp'), () => resolve()))
  left.resetAndDestroy()
  await once(left, 'close')
  t.equal((await post(call('tools/call', 'read'))).status, 200)
})

t.test('rejects a token that is revoked before its body is complete', async (t) => {
  const own = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, issuers: config.issuers.map(pushing) }),
  })
  const revoked = own.issuer.store('token-to-revoke', { scope: 'courses:read' })
  const body = call('tools/call', 'read')
  const client = connect(Number(new URL(own.gateway.url).port), '127.0.0.1')
  client.write(
    `POST /mcp HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer ${revoked}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
  )
  t.match(String(await once(client, 'data')), /^HTTP\/1\.1 100 /, 'the token was valid')
  own.issuer.revoke(revoked)
  await until(
    'the gateway has the revocation',
    async () => (await send(`${own.gateway.url}/mcp`, { token: revoked })).status === 401,
  )
  client.write(body)
  t.match(String(await once(client, 'data')), /^HTTP\/1\.1 401 /)
  client.destroy()
})

t.test('asks a client that waits for 100 (Continue) to send the body once', async (t) => {
  const body = call('tools/call', 'read')
  const answer = await under.raw(
    `POST /mcp HTTP/1.1\r\nhost: api.test\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  t.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
})

t.test('counts one validation of the token for each request', async (t) => {
  const countOf = async () => {
    const text = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    const counts = text.matchAll(/^scopegate_token_validation_duration_seconds_count\S* (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const before = await countOf()
  await post(call('tools/call', 'read'))
  t.equal(await countOf(), before + 1)
})

t.test('reads no other bodies', async (t) => {
  t.equal((await send(`${gateway.url}/mcp`, { token })).status, 200, 'GET')
  const answer = await post('garbage', { path: '/plain' })
  t.equal(answer.status, 200, 'a path without mcp.readBody')
  t.same(answer.forwarded, ['garbage'])
})

t.test('applies the same rules to HTTP/2', async (t) => {
  const tls = await startTlsGateway(t, {
    http2: true,
    policy: POLICY,
    change: (config) => ({ ...config, baseUrl: BASE_URL }),
  })
  const client = await openHttp2Client(t, tls)
  const reader = tls.issuer.store('token-over-http2', { scope: 'courses:read' })
  const ask = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    client.request('/mcp', { method: 'POST', token: reader, headers: { ...JSON_TYPE, ...headers }, body })
  t.equal((await ask(call('tools/call', 'read'))).status, 200)
  t.equal(tls.upstream.requests.at(-1)?.body, call('tools/call', 'read'))
  for (const [status, body, headers] of [
    [403, call('tools/call', 'write'), {}],
    [400, call('tools/call', 'write'), { 'mcp-name': 'read' }],
    [400, 'garbage', {}],
    [413, call('tools/call', 'read').padEnd(LIMIT + 1), {}],
  ] as const)
    t.equal((await ask(body, headers)).status, status, `${status} ${body.slice(0, 70)}`)
  t.equal(tls.upstream.requests.length, 1)
})

t.test(
  'the decision endpoint and the Fastify plugin do not serve a path whose bodies they do not get',
  async (t) => {
    const { decisions, issuer: own } = await startDecisionEndpoint(t, 'forward-auth', { policy: POLICY })
    const reader = own.store('token-for-decisions', { scope: 'courses:read' })
    const headers = { ...VERSION, 'mcp-method': 'tools/list', 'x-forwarded-method': 'POST' }
    const ask = (path: string) =>
      send(decisions, { token: reader, headers: { ...headers, 'x-forwarded-uri': path } })
    t.equal((await ask('/mcp')).status, 404)
    t.equal((await ask('/plain')).status, 200)
    const service = await startFastifyService(t, {
      policy: POLICY,
      routes: (app) => app.post('/mcp', () => 'reached'),
    })
    const answer = await send(`${service.url}/mcp`, { headers, json: { method: 'tools/list' } })
    t.equal(answer.status, 404)
    t.not(answer.text, 'reached')
  },
)
