import { once } from 'node:events'
import { request as send } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'

async function get(under: GatewayUnderTest, path: string) {
  return under.raw(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`)
}

t.test('an unreachable upstream gets 502 without its address', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({ ...one, urls: ['http://127.0.0.1:1'] })),
    }),
  })
  const answer = await get(under, '/pub/x')
  t.match(answer, /^HTTP\/1\.1 502 .*x-scopegate-error: 1\r\n.*"error":"upstream_unavailable"/s)
  t.notMatch(answer, /127\.0\.0\.1|ECONN/)
  await until('the access line', async () =>
    under.log().some((line) => line['error.type'] === 'upstream_connect'),
  )
})

for (const [what, reply, status] of [
  ['closes without a response', '', 502],
  ['sends a response that is not HTTP', 'this is not HTTP\r\n\r\n', 502],
  [
    'sends Content-Length and Transfer-Encoding',
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    502,
  ],
  ['sends two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc', 502],
  [
    'switches protocols without a request',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    502,
  ],
  ['closes within its headers', 'HTTP/1.1 200 OK\r\ncontent-le', 502],
  ['sends endless headers', `HTTP/1.1 200 OK\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`, 502],
] as const)
  t.test(`the client gets ${status} from the gateway for an upstream that ${what}`, async (t) => {
    const under = await startGatewayUnderTest(t)
    under.upstream.reply((socket) => socket.end(reply))
    const answer = await get(under, '/pub/x')
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} .*"error":"upstream_unavailable"`, 's'))
    t.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1)
    t.equal(under.upstream.requests.length, 1, 'the gateway sends no second request')
  })

t.test('an upstream timeout gets 504 and closes the upstream connection', async (t) => {
  const under = await startGatewayUnderTest(t)
  const closed = new Promise((resolve) =>
    under.upstream.reply((socket) => {
      socket.on('close', resolve)
    }),
  )
  t.match(await get(under, '/api/impatient'), /^HTTP\/1\.1 504 .*"error":"upstream_timeout"/s)
  await closed
  under.upstream.reply(OK_REPLY)
  t.match(await get(under, '/pub/x'), /^HTTP\/1\.1 200 /)
})

for (const [what, reply] of [
  ['an announced length', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
  ['chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ['a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\nhalf'],
] as const)
  t.test(`the client does not get a complete response when the upstream fails within ${what}`, async (t) => {
    const under = await startGatewayUnderTest(t)
    under.upstream.reply((socket) => {
      socket.write(reply)
      setImmediate(() => socket.destroy())
    })
    const response = await fetch(`${under.gateway.url}/pub/x`).catch(() => undefined)
    await t.rejects(response === undefined ? Promise.reject(new Error('reset')) : response.text())
    await until('the access line', async () =>
      under.log().some((line) => line['error.type'] === 'upstream_reset'),
    )
  })

t.test('unsolicited bytes of an upstream never become the response to another request', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply((socket, { target }) => {
    const body = target.slice('/pub/'.length)
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nPOISON`,
    )
  })
  for (let i = 0; i < 50; i++) {
    const response = await fetch(`${under.gateway.url}/pub/nonce-${i}`)
    t.not(await response.text(), 'POISON')
  }
})

t.test('the gateway ends the upstream request when the client leaves', async (t) => {
  const under = await startGatewayUnderTest(t)
  const closed = new Promise<void>((resolve) =>
    under.upstream.reply((socket) => {
      socket.on('close', () => resolve())
      client.destroy()
    }),
  )
  const { port } = new URL(under.gateway.url)
  const client = connect(Number(port), '127.0.0.1')
  client.write(`GET /pub/x HTTP/1.1\r\n${HEAD}\r\n`)
  await closed
  await until('the access line', async () =>
    under
      .log()
      .some((line) => line['http.response.status_code'] === 499 && line['error.type'] === 'client_closed'),
  )
})

t.test('bodies are forwarded unchanged in both directions', async (t) => {
  const under = await startGatewayUnderTest(t)
  const big = 'x'.repeat(300_000)
  under.upstream.reply((socket, { body }) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  )
  for (const [method, body, headers] of [
    ['POST', 'a=b', 'Content-Length: 3\r\n'],
    ['POST', big, `Content-Length: ${big.length}\r\n`],
    ['GET', 'query', 'Content-Length: 5\r\n'],
    ['DELETE', 'why', 'Content-Length: 3\r\n'],
  ] as const) {
    const answer = await under.raw(`${method} /pub/x HTTP/1.1\r\n${HEAD}${headers}\r\n${body}`)
    t.equal(answer.split('\r\n\r\n')[1], body, `${method} with ${body.length} bytes`)
    t.equal(under.upstream.requests.at(-1)?.body, body)
  }
  await under.raw(
    `POST /pub/x HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`,
  )
  t.equal(under.upstream.requests.at(-1)?.body, 'abc')
  await under.raw(`POST /pub/x HTTP/1.1\r\n${HEAD}Content-Length: 0\r\n\r\n`)
  t.same(under.upstream.seen('content-length'), ['0'])
})

t.test('the gateway adds no body to a response without a body', async (t) => {
  const under = await startGatewayUnderTest(t)
  under.upstream.reply('HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n')
  t.match(
    await get(under, '/pub/x'),
    /^HTTP\/1\.1 204 (?!.*(?:content-length|transfer-encoding)).*\r\n\r\n$/is,
  )
  under.upstream.reply('HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n')
  t.match(await get(under, '/pub/x'), /^HTTP\/1\.1 304 .*etag: "a".*\r\n\r\n$/s)
  under.upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n')
  const head = await under.raw(`HEAD /pub/x HTTP/1.1\r\n${HEAD}\r\n`)
  t.match(head, /^HTTP\/1\.1 200 .*content-length: 11\r\n.*\r\n\r\n$/s)
  t.equal(under.upstream.requests.at(-1)?.method, 'HEAD')
})

t.test('the client receives headers and each event as soon as the upstream sends them', async (t) => {
  const under = await startGatewayUnderTest(t)
  let emit: (text: string) => void = () => undefined
  under.upstream.reply((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
    emit = (text) => socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
  })
  const response = await fetch(`${under.gateway.url}/pub/events`)
  t.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body?.getReader()
  emit('data: 1\n\n')
  t.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'data: 1\n\n')
  emit('data: 2\n\n')
  t.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'data: 2\n\n')
  await reader?.cancel()
})

t.test(
  'a body above the limit is rejected before it is read, or at the limit when its length is unknown',
  async (t) => {
    const under = await startGatewayUnderTest(t)
    const announced = await under.raw(
      `POST /api/small HTTP/1.1\r\n${HEAD}Content-Length: 17\r\n\r\n${'x'.repeat(17)}`,
    )
    t.match(announced, /^HTTP\/1\.1 413 .*"error":"payload_too_large"/s)
    t.equal(under.upstream.bytes, '')
    const chunked = await under.raw(
      `POST /api/small HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n10\r\n${'x'.repeat(16)}\r\n1\r\nx\r\n0\r\n\r\n`,
    )
    t.match(chunked, /^HTTP\/1\.1 413 .*connection: close\r\n.*"error":"payload_too_large"/is)
    t.equal(under.upstream.requests.length, 0, 'the upstream got no complete request')
    const enough = await under.raw(
      `POST /api/small HTTP/1.1\r\n${HEAD}Content-Length: 16\r\n\r\n${'x'.repeat(16)}`,
    )
    t.match(enough, /^HTTP\/1\.1 200 /)
  },
)

t.test('the 413 for a large body reaches the client without a reset', async (t) => {
  const under = await startGatewayUnderTest(t)
  const outgoing = send(`${under.gateway.url}/api/small`, {
    method: 'POST',
    headers: { 'content-length': 900_000 },
  })
  outgoing.on('error', () => undefined)
  outgoing.end('x'.repeat(900_000))
  const [response] = await once(outgoing, 'response')
  t.equal(response.statusCode, 413)
  response.resume()
  await once(response, 'end')
})

t.test(
  'a client that stalls within its body gets a 408 that does not count against the upstream',
  async (t) => {
    const under = await startGatewayUnderTest(t)
    const answer = await under.raw(`POST /api/impatient HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\nhalf`)
    t.match(answer, /^HTTP\/1\.1 408 .*connection: close\r\n/is)
    t.equal(under.upstream.requests.length, 0)
    const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
    t.notMatch(metrics, /scopegate_upstream_errors_total\{/)
  },
)

t.test('the gateway prefixes the request path with the base path of the upstream', async (t) => {
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({ ...one, urls: one.urls.map((url) => `${url}/base/`) })),
    }),
  })
  await get(under, '/pub/x?y')
  t.equal(under.upstream.requests[0]?.target, '/base/pub/x?y')
})
