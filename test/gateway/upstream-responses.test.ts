import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'
const GET = `GET /pub/x HTTP/1.1\r\n${HEAD}\r\n`
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

t.test('interim responses reach the client in order and without hop-by-hop headers', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply(
    `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\nx-auth-subject: eve\r\n\r\n${OK}`,
  )
  const answer = await raw(GET)
  t.same(answer.match(/^HTTP\/1\.1 \d+|^link: .*$/gim), [
    'HTTP/1.1 102',
    'HTTP/1.1 103',
    'Link: </a.css>; rel=preload',
    'HTTP/1.1 200',
  ])
  t.notMatch(answer, /eve/)
})

t.test('the gateway drops invalid early hints and unknown interim responses', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply(
    `HTTP/1.1 103 Early Hints\r\nlink: this is no link\r\n\r\nHTTP/1.1 103 Early Hints\r\nx: y\r\n\r\nHTTP/1.1 104 What\r\n\r\n${OK}`,
  )
  t.match(await raw(GET), /^HTTP\/1\.1 200 (?:(?!HTTP).)*$/s)
})

t.test('an HTTP/1.0 client gets no interim response and no chunks', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply(
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  )
  const answer = await raw('GET /pub/x HTTP/1.0\r\n\r\n')
  t.match(answer, /^HTTP\/1\.1 200 (?:(?!transfer-encoding|HTTP).)*\r\n\r\nok$/is)
})

t.test('trailers are dropped in both directions', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply(
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-checked\r\n\r\n2\r\nok\r\n0\r\nx-checked: yes\r\nset-cookie: a=b\r\n\r\n',
  )
  const answer = await raw(
    `POST /pub/x HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\nTrailer: x-auth-subject\r\n\r\n2\r\nhi\r\n0\r\nx-auth-subject: eve\r\n\r\n`,
  )
  t.match(answer, /^HTTP\/1\.1 200 .*2\r\nok\r\n0\r\n\r\n$/s)
  t.notMatch(answer, /x-checked|a=b/)
  t.equal(upstream.requests[0]?.body, 'hi')
  t.notMatch(upstream.bytes, /eve|trailer/i)
})

t.test('a response before the end of the request body reaches the client completely', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  upstream.onHead((socket) => {
    socket.pause()
    socket.end('HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig', () =>
      socket.destroy(),
    )
  })
  for (let i = 0; i < 20; i++) {
    const { port } = new URL(gateway.url)
    const client = connect(Number(port), '127.0.0.1')
    let answer = ''
    client.on('data', (chunk) => (answer += chunk.toString()))
    // Ignores the error of a write, because the gateway closes the connection after the response while the client still
    // sends.
    client.on('error', () => undefined)
    client.write(`POST /pub/x HTTP/1.1\r\n${HEAD}Content-Length: 900000\r\n\r\n`)
    const sending = setInterval(() => client.writable && client.write(Buffer.alloc(50_000)), 1)
    await new Promise((resolve) => client.once('close', resolve))
    clearInterval(sending)
    t.match(answer, /^HTTP\/1\.1 413 .*connection: close\r\n.*\r\n\r\nbig$/is)
  }
})

t.test('unsolicited bytes of an upstream never become the response to the next request', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  const POISON = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nPOISON'
  let ended: Promise<unknown> | undefined
  let poisonIdle: (() => void) | undefined
  upstream.reply((socket, { target }) => {
    const nonce = target.slice('/pub/'.length)
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${nonce.length}\r\n\r\n${nonce}`)
    // Sends the unsolicited bytes directly after the response. For every tenth request, sends the bytes later on the
    // idle connection.
    if (nonce.endsWith('0')) {
      ended = new Promise((resolve) => socket.once('close', resolve))
      poisonIdle = () => socket.write(POISON)
    } else socket.write(POISON)
  })
  const mismatches: string[] = []
  for (let i = 0; i < 1_000; i++) {
    const response = await fetch(`${gateway.url}/pub/${i}`)
    const text = await response.text()
    if (text !== String(i)) mismatches.push(`${i}: ${text}`)
    poisonIdle?.()
    await ended
    ended = undefined
    poisonIdle = undefined
  }
  t.same(mismatches, [])
})

t.test('an event stream lasts longer than the timeout for the start of a response', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  let stream: Socket | undefined
  upstream.reply((socket) => {
    stream = socket
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 0\n\n')
  })
  // Repeats the request, because a busy machine can exceed the timeout of the route.
  const response = await until('the event stream starts', async () => {
    const answer = await fetch(`${gateway.url}/api/impatient`)
    if (answer.status === 200) return answer
    await answer.text()
    return undefined
  })
  const reader = response.body?.getReader()
  const read = async () => Buffer.from((await reader?.read())?.value ?? []).toString()
  t.equal(await read(), 'data: 0\n\n')
  upstream.reply(() => undefined)
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    // A later request gets 504 after the timeout, so the stream lasts longer than the timeout.
    t.equal((await fetch(`${gateway.url}/api/impatient`)).status, 504)
    stream?.write(event)
    t.equal(await read(), event)
  }
  await reader?.cancel()
})

t.test('the gateway disconnects a client that reads nothing, and ends its upstream request', async (t) => {
  const { gateway, upstream, log } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({ ...one, idleTimeoutMs: 200 })),
    }),
  })
  const closed = new Promise<void>((resolve) =>
    upstream.reply((socket) => {
      socket.on('close', () => resolve())
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${1e9}\r\n\r\n`)
      const more = () => {
        while (socket.writable && socket.write(Buffer.alloc(64 * 1024)));
      }
      socket.on('drain', more)
      more()
    }),
  )
  const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  client.on('error', () => undefined)
  client.pause()
  client.write(GET)
  await closed
  client.destroy()
  await until('the access line', async () => log().some((line) => line['event'] === 'access'))
})

t.test('an upstream URL may contain a host name that the system resolves', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({
        ...one,
        urls: one.urls.map((url) => url.replace('127.0.0.1', 'localhost')),
      })),
    }),
  })
  upstream.reply(OK)
  t.match(await raw(GET), /^HTTP\/1\.1 200 /)
  t.match(upstream.seen('host')[0], /^localhost:/)
})

t.test('the gateway forwards a response while the client still sends the body', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  upstream.onHead((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
    socket.on('data', (chunk) => {
      if (chunk.includes('ping')) socket.write('4\r\npong\r\n')
      if (chunk.includes('0\r\n\r\n')) socket.write('0\r\n\r\n')
    })
  })
  const client = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  let answer = ''
  client.on('data', (chunk) => (answer += chunk.toString()))
  client.write(`POST /pub/x HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\nwait\r\n`)
  await until('the head of the answer', async () => answer.startsWith('HTTP/1.1 200 '))
  client.write('4\r\nping\r\n')
  await until('the echo', async () => answer.includes('pong'))
  client.write('0\r\n\r\n')
  await once(client, 'close')
  t.match(answer, /4\r\npong\r\n0\r\n\r\n$/)
})
