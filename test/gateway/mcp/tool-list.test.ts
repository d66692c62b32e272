import t from 'tap'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: tools
upstream: api
defaults: { anonymous: challenge, timeout: 20s, mcp: { filterTools: true } }
routes:
  - { name: list, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/list } }, scopes: { any: [courses:read, orders:read] } }
  - { name: read, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: read } }, scopes: { all: [courses:read] } }
  - { name: write, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: write } }, scopes: { all: [courses:write] } }
  - { name: audited, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: audited } }, scopes: { all: [courses:write] }, enforce: report }
  - { name: draft, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: create, mcp-param-state: draft } }, scopes: { all: [courses:read] } }
  - { name: publish, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: create, mcp-param-state: published } }, scopes: { all: [courses:write] } }
  - { name: orders, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: orders } }, scopes: { all: [orders:read] }, when: [{ claim: department, equals: sales }] }
  - { name: slow, match: { methods: [POST], path: /slow }, timeout: 400ms, scopes: { all: [courses:read] } }
  - { name: unfiltered, match: { methods: [POST], path: /all }, mcp: { readBody: true }, scopes: { all: [courses:read] } }
`
const TOOLS = ['read', 'write', 'audited', 'create', 'orders', 'without-a-route']
const LIST = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { tools: TOOLS.map((name) => ({ name })), ttlMs: 1, cacheScope: 'public' },
})

const { gateway, issuer, upstream, log } = await startGatewayUnderTest(t, { policy: POLICY })
const reader = issuer.store('reader', { scope: 'courses:read' })
const seller = issuer.store('seller', { scope: 'orders:read', department: 'sales' })

const response = (body: string, head = 'content-type: application/json\r\n', status = '200 OK') =>
  `HTTP/1.1 ${status}\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

function ask(token: string, path = '/mcp', method = 'tools/list') {
  return send(`${gateway.url}${path}`, {
    token,
    headers: { 'mcp-protocol-version': '2026-07-28', 'accept-encoding': 'gzip, br' },
    json: { jsonrpc: '2.0', id: 1, method, params: method === 'tools/call' ? { name: 'read' } : {} },
  })
}

const namesOf = (text: string) =>
  JSON.parse(text).result.tools.map(({ name }: { readonly name: string }) => name)

t.test('each caller gets only the tools that the caller may call', async (t) => {
  upstream.reply(
    response(LIST, 'content-type: application/json\r\netag: "all"\r\ndigest: x\r\nx-other: kept\r\n'),
  )
  const listed = await ask(reader)
  t.equal(listed.status, 200)
  t.same(namesOf(listed.text), ['read', 'audited', 'create'])
  t.match(listed.text, '"cacheScope":"private"')
  t.equal(listed.headers.get('content-length'), String(Buffer.byteLength(listed.text)))
  t.same([listed.headers.get('etag'), listed.headers.get('digest')], [null, null])
  t.equal(listed.headers.get('x-other'), 'kept')
  t.same(upstream.seen('accept-encoding'), ['identity'], 'the upstream must not compress the list')
  t.same(namesOf((await ask(seller)).text), ['audited', 'orders'])
})

t.test('filters a list in chunks and a list as an event', async (t) => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type:'
  upstream.reply(`${head} application/json\r\n\r\n${chunk(LIST.slice(0, 9))}${chunk(LIST.slice(9))}0\r\n\r\n`)
  t.same(namesOf((await ask(seller)).text), ['audited', 'orders'])
  upstream.reply(`${head} text/event-stream\r\n\r\n${chunk(`data: ${LIST}\n\n`)}0\r\n\r\n`)
  t.match(
    (await ask(seller)).text,
    /^data: \{.*"tools":\[\{"name":"audited"\},\{"name":"orders"\}\].*\}\n\n$/,
  )
})

t.test('sends no list that it cannot filter', async (t) => {
  for (const [what, reply] of [
    ['no JSON', response('tools')],
    ['a content coding', response(LIST, 'content-type: application/json\r\ncontent-encoding: br\r\n')],
    ['more than 1 MiB', response(LIST.padEnd(1024 * 1024 + 1))],
    [
      'a broken response',
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n${LIST}`,
    ],
  ] as const) {
    if (what === 'a broken response') upstream.reply((socket) => socket.end(reply))
    else upstream.reply(reply)
    const answer = await ask(reader)
    t.equal(answer.status, 502, what)
    t.match(answer.json, { error: 'upstream_unavailable' }, what)
    t.notMatch(answer.text, 'write', what)
  }
  await until('the gateway logs the reason', async () =>
    log().some((line) => line['error.type'] === 'mcp_tools_unreadable'),
  )
  upstream.reply(response(LIST.padEnd(1024 * 1024)))
  t.equal((await ask(reader)).status, 200, 'exactly 1 MiB')
})

t.test('ends a list that is not complete within the timeout of the route', async (t) => {
  upstream.reply((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
    const timer = setInterval(() => socket.write('4\r\n: x\n\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  t.equal((await ask(reader, '/slow')).status, 504)
})

t.test('changes no error and no other response', async (t) => {
  upstream.reply(response('{"tools":["write"]}', 'content-type: application/json\r\n', '404 Not Found'))
  const error = await ask(reader)
  t.equal(error.status, 404)
  t.equal(error.text, '{"tools":["write"]}')
  upstream.reply(response(LIST))
  t.equal((await ask(reader, '/mcp', 'tools/call')).text, LIST, 'the response to a call')
  t.same(upstream.seen('accept-encoding'), ['gzip, br'])
  t.equal((await ask(reader, '/all')).text, LIST, 'a route without mcp.filterTools')
})
