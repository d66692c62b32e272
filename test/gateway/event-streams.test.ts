import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { EventSource } from 'undici'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import type { RecordedRequest } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n'

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

/** The upstream starts an event stream for every request. The test sends the events through the returned sockets. */
function startStreams(under: GatewayUnderTest): {
  readonly sockets: Socket[]
  readonly requests: RecordedRequest[]
} {
  const sockets: Socket[] = []
  const requests: RecordedRequest[] = []
  under.upstream.reply((socket, request) => {
    sockets.push(socket)
    requests.push(request)
    socket.write(HEAD)
  })
  return { sockets, requests }
}

/** Sends a request on a new connection without `connection: close`, and stores every received byte. */
async function openRaw(under: GatewayUnderTest, path: string, token?: string) {
  const { hostname, port } = new URL(under.gateway.url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  const ended = once(socket, 'close')
  const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
  socket.write(`GET ${path} HTTP/1.1\r\nhost: api.test\r\n${authorization}\r\n`)
  await until('the head', async () => text.includes('\r\n\r\n'))
  return { socket, ended, text: () => text }
}

t.test('an EventSource gets each event when it is sent, and reconnects automatically', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { sockets, requests } = startStreams(under)
  const source = new EventSource(`${under.gateway.url}/pub/events`)
  t.teardown(() => source.close())
  const events: unknown[] = []
  source.addEventListener('message', ({ data }) => events.push(data))
  await until('open', async () => source.readyState === EventSource.OPEN)
  sockets[0]?.write(chunk('retry: 10\nid: 7\ndata: one\n\n'))
  await until('the first', async () => events.length === 1)
  sockets[0]?.write(chunk('data: two\n'))
  sockets[0]?.write(chunk('\n'))
  await until('the second', async () => events.length === 2)
  t.same(events, ['one', 'two'])
  sockets[0]?.end('0\r\n\r\n')
  await until('again', async () => requests.length === 2)
  t.same(under.upstream.seen('last-event-id'), ['7'])
})

t.test('the gateway ends the upstream stream when the client leaves', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { sockets } = startStreams(under)
  const { socket } = await openRaw(under, '/pub/events')
  const [upstream] = sockets
  const closed = once(upstream as Socket, 'close')
  socket.destroy()
  await closed
  t.pass()
})

t.test('a broken stream does not end like a complete stream', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { sockets } = startStreams(under)
  const client = await openRaw(under, '/pub/events')
  client.socket.on('error', () => undefined)
  sockets[0]?.write(chunk('data: half'))
  await until('half', async () => client.text().includes('half'))
  sockets[0]?.resetAndDestroy()
  await client.ended.catch(() => undefined)
  t.notMatch(client.text(), /\r\n0\r\n\r\n$/)
})

t.test('a stream continues after its token expires', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { sockets } = startStreams(under)
  let token = ''
  let tried = 0
  // Repeats with a new token, because on a busy machine a token can expire before its stream starts.
  const client = await until('a stream', async () => {
    token = `short-${++tried}`
    under.issuer.store(token, { scope: 'courses:read', exp: Math.floor(Date.now() / 1_000) + 2 })
    const one = await openRaw(under, '/api/courses', token)
    return one.text().startsWith('HTTP/1.1 200 ') && one
  })
  await until('rejected by now', async () => {
    const response = await fetch(`${under.gateway.url}/api/small`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    return response.status === 401
  })
  sockets[0]?.write(chunk('data: still here\n\n'))
  await until('the event', async () => client.text().includes('still here'))
  client.socket.destroy()
})

t.test('a gateway shutdown ends streams cleanly, so that clients reconnect elsewhere', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { sockets } = startStreams(under)
  const clients = await Promise.all(Array.from({ length: 10 }, () => openRaw(under, '/pub/events')))
  for (const socket of sockets) socket.write(chunk('data: one\n\n'))
  await until('all', async () => clients.every(({ text }) => text().includes('data: one')))
  await under.gateway.close({ how: 'immediate' })
  for (const { ended, text } of clients) {
    await ended
    t.match(text(), /data: one\n\n\r\n0\r\n\r\n$/)
  }
  await until('the upstream connections are closed', async () => sockets.every((socket) => socket.destroyed))
})
