import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import t from 'tap'
import { BASE_URL, POLICY } from '../../../fixtures/a-gateway.ts'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import { openHttp2Client } from '../../../fixtures/http2-client.ts'
import {
  END_STREAM,
  FRAME,
  frame,
  type HeaderPair,
  headersFrame,
  openFrameClient,
  pseudoHeaders,
} from '../../../fixtures/http2-frames.ts'
import { launchChromium } from '../../../fixtures/launch-chromium.ts'
import { OK_REPLY } from '../../../fixtures/recording-upstream.ts'
import { until } from '../../../fixtures/until.ts'
import { openWebsocket } from '../../../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../../../fixtures/websocket-upstream.ts'

const run = promisify(execFile)

t.test('one port serves HTTP/2, HTTP/1.1 and clients without ALPN', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  for (const [offered, chosen] of [
    [['h2', 'http/1.1'], 'h2'],
    [['http/1.1'], 'http/1.1'],
    [undefined, false],
  ] as const) {
    const socket = await under.shake(offered === undefined ? {} : { ALPNProtocols: [...offered] })
    t.equal(socket.alpnProtocol, chosen)
  }
  t.equal(await under.get('/pub/x'), 200)
  t.same(under.upstream.seen('via'), ['1.1 scopegate'])
  const client = await openHttp2Client(t, under)
  const answer = await client.request('/pub/x')
  t.equal(answer.status, 200)
  t.equal(answer.text, '{"ok":true}')
  t.same(under.upstream.seen('via'), ['2.0 scopegate'])
  t.equal((await client.request('/api/challenged')).status, 401)
})

t.test('without the setting, a client that offers only HTTP/2 gets no connection', async (t) => {
  const under = await startTlsGateway(t)
  await t.rejects(under.shake({ ALPNProtocols: ['h2'] }))
})

t.test('curl uses HTTP/2 for requests with and without a body', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const args = ['-sS', '-k', '--http2', '-o', '/dev/null', '-w', '%{http_version} %{http_code}']
  for (const [more, result] of [
    [[], '2 200'],
    [['-I'], '2 200'],
    [['-d', 'x'.repeat(100_000)], '2 200'],
    [['-H', 'transfer-encoding: chunked', '-d', 'text'], '2 200'],
    [['-H', 'expect: 100-continue', '-d', 'text'], '2 200'],
  ] as const)
    t.equal(
      (await run('curl', [...args, ...more, `${under.gateway.url}/pub/x`])).stdout,
      result,
      more.join(' ').slice(0, 60),
    )
  t.equal(
    (await run('curl', [...args, '-d', 'x'.repeat(100_000), `${under.gateway.url}/api/small`])).stdout,
    '2 413',
  )
  t.equal((await run('curl', [...args, `${under.gateway.url}/api/challenged`])).stdout, '2 401')
})

t.test('Chromium uses HTTP/2, and reads challenges and bodies', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  under.upstream.reply((socket, { target }) =>
    socket.write(
      target === '/pub/page'
        ? 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\r\n<title>x</title>'
        : OK_REPLY,
    ),
  )
  const chromium = await launchChromium(t)
  const context = await chromium.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  const response = await page.goto(`${under.gateway.url}/pub/page`)
  t.equal(response?.status(), 200)
  const results = await page.evaluate(async () => {
    const ask = async (path: string, init?: RequestInit) => {
      const answer = await fetch(path, init)
      return [answer.status, answer.headers.get('www-authenticate') !== null, (await answer.text()).length]
    }
    const all = await Promise.all([
      ask('/pub/x'),
      ask('/pub/x', { method: 'POST', body: 'x'.repeat(200_000) }),
      ask('/api/challenged'),
      ...Array.from({ length: 50 }, (_, at) => ask(`/pub/${at}`)),
    ])
    const protocols = performance
      .getEntriesByType('resource')
      .map((one) => (one as { readonly nextHopProtocol?: string }).nextHopProtocol)
    return { all, protocols: [...new Set(protocols)] }
  })
  t.same(results.protocols, ['h2'])
  t.same(results.all.slice(0, 2), [
    [200, false, 11],
    [200, false, 11],
  ])
  t.same(results.all[2]?.slice(0, 2), [401, true])
  t.ok(results.all.slice(3).every(([status]) => status === 200))
})

t.test(
  'the upstream gets the request in HTTP/1.1, with its body and without the fields of HTTP/2',
  async (t) => {
    const under = await startTlsGateway(t, { http2: true })
    const client = await openHttp2Client(t, under)
    const stream = client.open(
      { ':path': '/pub/x?a=1', ':method': 'POST', te: 'trailers', 'x-a': 'b' },
      false,
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': '1' }))
    stream.end('text')
    const [headers] = await once(stream, 'response')
    t.equal(headers[':status'], 200)
    const chunked = under.upstream.requests.at(-1)
    t.match(chunked, { method: 'POST', target: '/pub/x?a=1', body: 'text' })
    t.same(under.upstream.seen('transfer-encoding'), ['chunked'])
    t.same(under.upstream.seen('x-a'), ['b'])
    for (const name of ['te', 'x-trailer', ':path', ':authority']) t.same(under.upstream.seen(name), [], name)

    await client.request('/pub/x', { method: 'POST', body: 'text', headers: { 'content-length': '4' } })
    t.match(under.upstream.requests.at(-1), { body: 'text' })
    t.same(under.upstream.seen('content-length'), ['4'])
    t.same(under.upstream.seen('transfer-encoding'), [])
    t.equal((await client.request('/pub/x', { method: 'POST', body: '' })).status, 200)
    t.equal((await client.request('/pub/x', { method: 'POST' })).status, 200)
    t.same(under.upstream.seen('content-length'), ['0'])

    // RFC 9113 section 8.2.3: a client can split the cookie.
    const frames = await openFrameClient(under)
    frames.write(headersFrame(1, [...pseudoHeaders('/api/trusted'), ['cookie', 'a=b'], ['cookie', 'c=d']]))
    await frames.receive(FRAME.HEADERS, 1)
    t.same(under.upstream.seen('cookie'), ['a=b; c=d'])
  },
)

t.test('responses have repeated fields, but no fields of a connection', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  under.upstream.reply(
    'HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nset-cookie: c=d\r\netag: "a"\r\netag: "b"\r\nConnection: x-hop, keep-alive\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nhttp2-settings: AAMAAABk\r\nte: gzip\r\nproxy-connection: close\r\nupgrade: h2c\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n',
  )
  const answer = await client.request('/pub/x')
  t.equal(answer.text, 'text')
  t.same(answer.headers['set-cookie'], ['a=b', 'c=d'])
  t.ok(answer.headers.date)
  for (const name of [
    ...['connection', 'http2-settings', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding'],
    ...['upgrade', 'x-hop'],
  ])
    t.equal(answer.headers[name], undefined, name)
  for (const reply of [
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  ]) {
    under.upstream.reply(reply)
    const empty = await client.request('/pub/x')
    t.match([empty.status, empty.text, empty.code], [Number(reply.slice(9, 12)), '', 0])
  }
  under.upstream.reply('HTTP/1.1 205 Reset Content\r\ncontent-length: 4\r\n\r\ntext')
  const reset = await client.request('/pub/x')
  t.match([reset.status, reset.text, reset.code], [205, '', 0])
  t.equal(reset.headers['content-length'], undefined, 'RFC 9113 §8.1.1: no length of content that is missing')
  under.upstream.reply('HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n')
  const head = await client.request('/pub/x', { method: 'HEAD' })
  t.match([head.status, head.headers['content-length'], head.code], [200, '11', 0])
  const denied = await client.request('/nothing', { method: 'HEAD' })
  t.match([denied.status, denied.text, denied.code], [404, '', 0])
})

t.test(
  'a status that HTTP/2 of Node.js cannot send becomes a 502 with the response of the upstream',
  async (t) => {
    const under = await startTlsGateway(t, { http2: true })
    const client = await openHttp2Client(t, under)
    under.upstream.reply('HTTP/1.1 999 Denied\r\ncontent-length: 2\r\n\r\nno')
    const answer = await client.request('/pub/x')
    t.match([answer.status, answer.text, answer.code], [502, 'no', 0])
    t.match(
      await until('the log has the request', async () => under.log().find(({ event }) => event === 'access')),
      { 'http.response.status_code': 502, 'upstream.status': 999 },
    )
    t.same(
      under.log().filter(({ event }) => event === 'request_failed'),
      [],
    )
  },
)

t.test('interim responses reach the client', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  under.upstream.reply(
    `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n${OK_REPLY}`,
  )
  const stream = client.open({ ':path': '/pub/x', ':method': 'POST', expect: '100-continue' }, false)
  const interim: unknown[] = []
  stream.on('headers', (headers) => interim.push([headers[':status'], headers['link']]))
  await once(stream, 'continue')
  stream.end('text')
  const [headers] = await once(stream, 'response')
  t.equal(headers[':status'], 200)
  t.same(interim, [
    [100, undefined],
    [102, undefined],
    [103, '</a.css>; rel=preload'],
  ])
})

t.test(
  'a response before the end of the body resets the rest of the stream, not the connection',
  async (t) => {
    const under = await startTlsGateway(t, { http2: true })
    const client = await openHttp2Client(t, under)
    for (const [path, status] of [
      ['/api/small', 413],
      ['/nothing', 404],
      ['/api/challenged', 401],
    ] as const) {
      const stream = client.open({ ':path': path, ':method': 'POST', 'content-length': '100000' }, false)
      stream.resume().write('x'.repeat(1_000))
      const [headers] = await once(stream, 'response')
      t.equal(headers[':status'], status)
      await once(stream, 'close')
      t.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR)
    }
    under.upstream.onHead((socket) =>
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno'),
    )
    const stream = client.open({ ':path': '/pub/x', ':method': 'POST' }, false)
    stream.write('x'.repeat(1_000))
    let text = ''
    stream.on('data', (chunk) => {
      text += chunk
    })
    const [headers] = await once(stream, 'response')
    await once(stream, 'close')
    t.match([headers[':status'], text, stream.rstCode], [403, 'no', 0])
    t.equal(client.session.closed, false)
  },
)

t.test('a response before the end of the body has an end before RST_STREAM', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({ ...config, limits: { ...config.limits, headersBytes: 1_000 } }),
  })
  under.upstream.onHead((socket) => socket.write('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno'))
  const client = await openFrameClient(under)
  for (const [id, path, status, more] of [
    [1, '/api/small', '413', []],
    [3, '/nothing', '404', []],
    [5, '/nothing', '431', [['x-large', 'x'.repeat(1_200)]]],
    [7, '/pub/x', '403', []],
  ] as const) {
    client.write(headersFrame(id, [...pseudoHeaders(path, 'POST'), ['content-length', '100'], ...more], 0))
    const reset = await client.receive(FRAME.RST_STREAM, id)
    t.equal(reset.payload.readUInt32BE(), constants.NGHTTP2_NO_ERROR)
    const frames = client.frames.filter(({ streamId }) => streamId === id)
    t.match(frames.at(-2), { type: FRAME.DATA, flags: END_STREAM }, status)
  }
})

t.test(
  'a client that ends its body too early after an early response gets the complete response',
  async (t) => {
    const under = await startTlsGateway(t, { http2: true })
    const taken = Promise.withResolvers<Socket>()
    under.upstream.onHead((socket) => {
      taken.resolve(socket)
      socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 8\r\n\r\npart')
    })
    const client = await openFrameClient(under)
    client.write(
      headersFrame(1, [...pseudoHeaders('/pub/x', 'POST'), ['content-length', '9']], 0),
      frame(FRAME.DATA, 0, 1, Buffer.from('first')),
    )
    await client.receive(FRAME.DATA, 1)
    client.write(frame(FRAME.DATA, END_STREAM, 1), frame(FRAME.PING, 0, 0, Buffer.alloc(8)))
    await client.receive(FRAME.PING, 0)
    const upstream = await taken.promise
    upstream.write('rest')
    t.equal((await client.receive(FRAME.RST_STREAM, 1)).payload.readUInt32BE(), constants.NGHTTP2_NO_ERROR)
    const parts = client.frames.filter(({ type }) => type === FRAME.DATA)
    t.equal(Buffer.concat(parts.map(({ payload }) => payload)).toString(), 'partrest')
    t.equal(client.socket.destroyed, false)
  },
)

t.test('a client that ends its body too early before a response loses the stream', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const taken = new Promise((resolve) => under.upstream.onHead(resolve))
  const client = await openFrameClient(under)
  client.write(headersFrame(1, [...pseudoHeaders('/pub/x', 'POST'), ['content-length', '9']], 0))
  await taken
  client.write(frame(FRAME.DATA, END_STREAM, 1, Buffer.from('first')))
  const { payload } = await client.receive(FRAME.RST_STREAM, 1)
  t.equal(payload.readUInt32BE(), constants.NGHTTP2_PROTOCOL_ERROR)
  t.equal(client.socket.destroyed, false)
})

t.test('a client that ends its complete body after an early response completes the request', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const taken = Promise.withResolvers<Socket>()
  under.upstream.onHead((socket) => {
    taken.resolve(socket)
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n')
  })
  const client = await openFrameClient(under)
  client.write(
    headersFrame(1, [...pseudoHeaders('/pub/x', 'POST'), ['content-length', '9']], 0),
    frame(FRAME.DATA, 0, 1, Buffer.from('first')),
  )
  await client.receive(FRAME.HEADERS, 1)
  client.write(frame(FRAME.DATA, END_STREAM, 1, Buffer.from('last')))
  const upstream = await taken.promise
  let body = ''
  upstream.setEncoding('utf8').on('data', (text) => {
    body += text
  })
  await until('the upstream has the complete body', async () => body.endsWith('last'))
  upstream.write('done')
  await until('the response ends', async () =>
    client.frames.some(({ flags, type }) => type === FRAME.DATA && flags === END_STREAM),
  )
  client.write(headersFrame(3, pseudoHeaders('/nothing')))
  await client.receive(FRAME.HEADERS, 3)
  t.equal(
    client.frames.some(({ type }) => type === FRAME.RST_STREAM),
    false,
  )
})

t.test('a client that resets its stream aborts the upstream request', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  const reached = Promise.withResolvers<Socket>()
  under.upstream.reply((socket, { target }) => {
    if (target === '/pub/held') reached.resolve(socket)
    else socket.write(OK_REPLY)
  })
  const stream = client.open({ ':path': '/pub/held' })
  const socket = await reached.promise
  const closed = once(socket, 'close')
  stream.close(constants.NGHTTP2_CANCEL)
  await closed
  t.equal((await client.request('/pub/x')).status, 200)
  await until(
    'the log has both requests',
    async () => under.log().filter(({ event }) => event === 'access').length === 2,
  )
  const [first] = under.log().filter(({ event }) => event === 'access')
  t.match(first, { 'http.response.status_code': 499, 'error.type': 'client_closed' })
})

t.test('an upstream that fails inside a response resets only the stream of the response', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  const other = Promise.withResolvers<Socket>()
  under.upstream.reply((socket, { target }) => {
    if (target === '/pub/other') {
      other.resolve(socket)
      return
    }
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
    setImmediate(() => socket.end())
  })
  const pending = client.request('/pub/other')
  const socket = await other.promise
  const broken = await client.request('/pub/x')
  t.equal(broken.code, constants.NGHTTP2_INTERNAL_ERROR)
  socket.write(OK_REPLY)
  t.equal((await pending).status, 200)
})

t.test('large bodies pass in both directions, with many streams at a time', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under, { maxSessionMemory: 100 })
  const body = 'x'.repeat(700_000)
  under.upstream.reply((socket, request) =>
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${request.body.length}\r\n\r\n${request.body}`),
  )
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => client.request('/pub/x', { method: 'POST', body })),
  )
  for (const answer of answers)
    t.match([answer.status, answer.text.length, answer.code], [200, body.length, 0])
})

t.test('a drain announces the end of each connection, and completes open requests', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const [busy, idle] = [await openHttp2Client(t, under), await openHttp2Client(t, under)]
  const reached = Promise.withResolvers<Socket>()
  under.upstream.reply((socket) => reached.resolve(socket))
  const pending = busy.request('/pub/x')
  const socket = await reached.promise
  // The gateway closes a connection in a handshake later than idle connections.
  const unused = under.plain()
  await once(unused, 'connect')
  const announced = Promise.all([once(busy.session, 'goaway'), once(idle.session, 'goaway')])
  const othersClosed = Promise.all([once(idle.session, 'close'), once(unused.resume(), 'close')])
  const closed = under.gateway.close()
  const goaways = (await announced).map(([code, lastStream]) => [code, lastStream])
  t.same(goaways, [
    [constants.NGHTTP2_NO_ERROR, 1],
    [constants.NGHTTP2_NO_ERROR, 0],
  ])
  await othersClosed
  const body = 'x'.repeat(3_000_000)
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const { status, text, code } = await pending
  t.same([status, text.length, code], [200, body.length, constants.NGHTTP2_NO_ERROR])
  await closed
})

t.test('GOAWAY of a drain lets a client repeat the requests that the gateway ignores', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openFrameClient(under)
  const reached = Promise.withResolvers<Socket>()
  under.upstream.reply((socket) => reached.resolve(socket))
  client.write(headersFrame(1, pseudoHeaders('/pub/1')))
  const socket = await reached.promise
  const ended = once(client.socket, 'close')
  const closed = under.gateway.close()
  const { payload } = await client.receive(FRAME.GOAWAY, 0)
  // The gateway cannot distinguish this request from a request that was in transit.
  client.write(headersFrame(3, pseudoHeaders('/pub/3')))
  t.equal(payload.readUInt32BE(0), 1, 'the client can repeat the request of stream 3')
  socket.write(OK_REPLY)
  await ended
  t.ok(client.frames.some(({ type, streamId }) => type === FRAME.DATA && streamId === 1))
  t.notOk(client.frames.some(({ streamId }) => streamId === 3))
  t.same(
    under.upstream.requests.map(({ target }) => target),
    ['/pub/1'],
  )
  await closed
})

t.test('a connection that opens during a drain serves the requests of its first packet', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({ ...config, drain: { delayMs: 5_000, graceMs: 20_000 } }),
  })
  const closed = under.gateway.close()
  const client = await openFrameClient(under)
  client.write(...[1, 3, 5].map((id) => headersFrame(id, pseudoHeaders(`/pub/${id}`))))
  await once(client.socket, 'close')
  const goaways = client.frames.filter(({ type }) => type === FRAME.GOAWAY)
  t.same([...new Set(goaways.map(({ payload }) => payload.readUInt32BE(0)))], [5])
  t.same(under.upstream.requests.map(({ target }) => target).sort(), ['/pub/1', '/pub/3', '/pub/5'])
  const complete = client.frames.filter(({ type, flags }) => type === FRAME.DATA && flags === END_STREAM)
  t.same(complete.map(({ streamId }) => streamId).sort(), [1, 3, 5])
  await closed
})

t.test('a drain ends event streams', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  under.upstream.reply((socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n'),
  )
  const stream = client.open({ ':path': '/pub/events' })
  const [chunk] = await once(stream, 'data')
  t.equal(String(chunk), 'data: 1\n\n')
  const ended = once(stream, 'close')
  await under.gateway.close({ how: 'immediate' })
  await ended
})

t.test('the limit for heads is the same as for HTTP/1.1', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under, { maxSendHeaderBlockLength: 2 ** 20 })
  const large = { 'x-large': 'x'.repeat(15 * 1024) }
  t.equal((await client.request('/pub/x', { headers: large })).status, 200)
  for (const method of ['GET', 'HEAD', 'POST'] as const) {
    const tooLarge = await client.request('/pub/x', {
      method,
      headers: { 'x-large': 'x'.repeat(17 * 1024) },
      ...(method === 'POST' ? { body: 'text' } : {}),
    })
    t.equal(tooLarge.status, 431, method)
  }
  const reset = await client.request('/pub/x', { headers: { 'x-large': 'x'.repeat(40 * 1024) } })
  t.match([reset.status, reset.code], [0, constants.NGHTTP2_ENHANCE_YOUR_CALM])
  t.equal((await client.request(`/pub/${'x'.repeat(9_000)}`)).status, 414)
  t.equal((await client.request('/pub/x')).status, 200)
  t.equal(under.upstream.requests.length, 2)
})

t.test('a request line with the version 2.0 is not a request of HTTP/2', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  for (const version of ['2.0', '2']) {
    const socket = await under.shake({ ALPNProtocols: ['http/1.1'] })
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.write(`POST /pub/x HTTP/${version}\r\nhost: api.test\r\ncontent-length: 9\r\n\r\nGET /pub/y`)
    await once(socket, 'close')
    t.match(received, /^HTTP\/1\.1 400 [\s\S]*connection: close/i)
    t.equal(received.match(/HTTP\/1\.1 \d/g)?.length, 1)
  }
  t.same(under.upstream.requests, [])
})

const RESET = 'reset'
const withHeader = (name: string, value: string): HeaderPair[] => [...pseudoHeaders('/pub/x'), [name, value]]
const withPseudo = (name: string, value: string): HeaderPair[] =>
  pseudoHeaders('/pub/x').map(([one, old]) => [one, one === name ? value : old])

t.test('malformed and ambiguous requests never reach the upstream', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const cases: readonly [pairs: HeaderPair[], outcome: typeof RESET | number][] = [
    [withHeader('connection', 'close'), RESET],
    [withHeader('transfer-encoding', 'chunked'), RESET],
    [withHeader('upgrade', 'websocket'), RESET],
    [withHeader('keep-alive', '5'), RESET],
    [withHeader('te', 'gzip'), RESET],
    [withHeader('X-Upper', 'a'), RESET],
    [withHeader('content-length', '5'), RESET],
    [withHeader('content-length', '-1'), RESET],
    [withHeader(':protocol', 'websocket'), RESET],
    [withHeader(':path', '/pub/y'), RESET],
    [withHeader(':authority', 'api.test'), RESET],
    [withHeader('host', 'evil.test'), 400],
    [[...withHeader('content-length', '0'), ['content-length', '0']], RESET],
    ...['', '*', 'pub/x', 'https://api.test/pub/x', '/pub/x y', '/pub/\r\nx', '/pub/\0'].map(
      (path) => [withPseudo(':path', path), RESET] as [HeaderPair[], typeof RESET],
    ),
    ...['/pub/x#a', '//pub/x', '/pub/../x', '/pub/%2e%2e/x', '/pub/\xff', '/pub/a%2fb'].map(
      (path) => [withPseudo(':path', path), 400] as [HeaderPair[], number],
    ),
    ...['GET ', '', 'G ET', 'GET\r\n', 'CONNECT'].map(
      (method) => [withPseudo(':method', method), RESET] as [HeaderPair[], typeof RESET],
    ),
    ...['', 'root@api.test', 'a b', 'a/b', 'api.test\r\nx: y'].map(
      (authority) => [withPseudo(':authority', authority), RESET] as [HeaderPair[], typeof RESET],
    ),
    [withPseudo(':authority', 'api.test:x'), 400],
    ...['', 'https://evil.test/x?', 'a b'].map(
      (scheme) => [withPseudo(':scheme', scheme), RESET] as [HeaderPair[], typeof RESET],
    ),
    ...['ftp', 'file', 'HTTPS'].map(
      (scheme) => [withPseudo(':scheme', scheme), 400] as [HeaderPair[], number],
    ),
    ...[':method', ':scheme', ':path', ':authority'].map(
      (name) =>
        [pseudoHeaders('/pub/x').filter(([one]) => one !== name), RESET] as [HeaderPair[], typeof RESET],
    ),
    [[...pseudoHeaders('/pub/x').slice(1), ['x-a', 'b'], [':method', 'GET']], RESET],
    [
      [
        [':method', 'CONNECT'],
        [':authority', 'api.test:443'],
      ],
      400,
    ],
  ]
  for (const [pairs, outcome] of cases) {
    const what = JSON.stringify(pairs)
    const client = await openFrameClient(under)
    client.write(headersFrame(1, pairs))
    if (outcome === RESET) {
      const { payload } = await client.receive(FRAME.RST_STREAM, 1)
      t.equal(payload.readUInt32BE(), constants.NGHTTP2_PROTOCOL_ERROR, what)
    } else {
      await client.receive(FRAME.DATA, 1)
      const text = Buffer.concat(
        client.frames.filter(({ type }) => type === FRAME.DATA).map(({ payload }) => payload),
      )
      t.match(text.toString(), /"error":"invalid_request"/, what)
    }
    client.socket.destroy()
  }
  t.same(under.upstream.requests, [])
})

t.test(
  'a header whose name or value has invalid characters reaches neither the policy nor the upstream',
  async (t) => {
    const under = await startTlsGateway(t, { http2: true })
    const client = await openFrameClient(under)
    const invalid: HeaderPair[] = [
      ...['a\r\nx-b: c', 'a\nb', 'a\0b', 'a\x7fb', ' a', 'a ', '\ta'].map(
        (value): HeaderPair => ['x-a', value],
      ),
      ...['x a', 'x:a', 'x\r\nb', 'x\0', 'x\xff', ''].map((name): HeaderPair => [name, 'b']),
      ['authorization', 'Bearer good\0'],
    ]
    for (const [at, pair] of invalid.entries()) {
      client.write(headersFrame(2 * at + 1, [...pseudoHeaders('/pub/x'), pair, ['x-last', 'yes']]))
      await client.receive(FRAME.HEADERS, 2 * at + 1)
      const names = under.upstream.requests.at(-1)?.headers.map(([name]) => name) ?? []
      t.same(under.upstream.seen('x-last'), ['yes'])
      t.notOk(
        names.some((name) => /^x-?[ab:\s\0\xff]/.test(name) || name === 'authorization'),
        JSON.stringify(pair),
      )
    }
    t.notMatch(under.upstream.bytes, /x-b: c/)
  },
)

t.test('two equal hosts are one host, and a scheme of plain HTTP has no effect', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openFrameClient(under)
  for (const [at, pairs] of [
    withHeader('host', 'API.test'),
    withPseudo(':scheme', 'http'),
    [
      ...pseudoHeaders('/pub/x').filter(([name]) => name !== ':authority'),
      ['host', 'api.test'],
    ] as HeaderPair[],
  ].entries()) {
    client.write(headersFrame(2 * at + 1, pairs, END_STREAM))
    await client.receive(FRAME.HEADERS, 2 * at + 1)
  }
  t.equal(under.upstream.requests.length, 3)
  t.same(under.upstream.seen('x-forwarded-proto'), ['https'])
})

t.test('a WebSocket opens over HTTP/1.1 on the same port', async (t) => {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const under = await startTlsGateway(t, {
    http2: true,
    policy: `${POLICY}  - { name: live, match: { methods: [GET], path: /live }, websocket: true }\n`,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [live.url] } : one)),
    }),
  })
  const client = await openWebsocket(
    `${under.gateway.url}/live`,
    undefined,
    {},
    { rejectUnauthorized: false },
  )
  client.socket.send('over TLS')
  await until('the echo arrives', async () => client.messages.includes('over TLS'))
  client.socket.close(1000)
  t.equal((await client.closed).code, 1000)
})

t.test('a client that leaves during the validation of its token causes no upstream request', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  const claims = {
    ...{ active: true, iss: BASE_URL, aud: 'https://127.0.0.1', sub: 'user-1', client_id: 'client-1' },
    ...{ token_type: 'Bearer', scope: 'courses:read' },
  }
  const asked = Promise.withResolvers<() => void>()
  under.issuer.answerWith((response) =>
    asked.resolve(() =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ...claims, exp: Math.floor(Date.now() / 1_000) + 900 })),
    ),
  )
  const stream = client.open({ ':path': '/api/courses', authorization: 'Bearer held' })
  const respond = await asked.promise
  stream.close(constants.NGHTTP2_CANCEL)
  const logged = () => under.log().some((line) => line['url.path'] === '/api/courses')
  await until('the gateway logs the request', async () => logged())
  respond()
  t.equal((await client.request('/api/courses', { token: 'held' })).status, 200)
  t.equal(under.upstream.requests.length, 1)
})
