import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { gracefulClose } from '../../../platform/net/graceful-close.ts'
import { until } from '../../fixtures/until.ts'

async function start(t: Test, answer: RequestListener) {
  const server = createServer({ keepAliveTimeout: 72_000 }, answer)
  const gentle = gracefulClose(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  return { server, gentle, open, port }
}

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const ok: RequestListener = (_request, response) => response.end('ok')

/**
 * Resolves when a closing server checks the connection again. Each check reads `bytesRead`, so the test notices the
 * check.
 */
function nextCheck(connection: Socket): Promise<void> {
  return new Promise((resolve) => {
    Object.defineProperty(connection, 'bytesRead', {
      configurable: true,
      get() {
        Reflect.deleteProperty(connection, 'bytesRead')
        resolve()
        return connection.bytesRead
      },
    })
  })
}

t.test('idle connections and connections without a request do not delay the close', async (t) => {
  const { server, gentle, open } = await start(t, ok)
  const connected = once(server, 'connection')
  const unused = await open()
  await connected
  const idle = await open()
  idle.write(REQUEST)
  await once(idle, 'data')
  const ends = Promise.all([once(unused.resume(), 'end'), once(idle.resume(), 'end')])
  t.equal(await gentle.finish({ graceMs: 60_000 }), 0, 'no connection was reset')
  await ends
})

t.test('a request on a kept-alive connection gets a response after the listener closed', async (t) => {
  const { server, gentle, open, port } = await start(t, ok)
  const kept = await open()
  kept.write(REQUEST)
  await once(kept, 'data')
  const finished = gentle.finish({ graceMs: 60_000 })
  await until('the listener is closed', async () => !server.listening)
  const rejected = connect(port, '127.0.0.1')
  const [error] = await once(rejected, 'error')
  t.equal(error.code, 'ECONNREFUSED')
  kept.write(REQUEST)
  const [answer] = await once(kept, 'data')
  t.match(String(answer), /^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n/is)
  t.equal(await finished, 0)
})

t.test(
  'finish() accepts the connections in the queue of the system before the listener closes',
  async (t) => {
    const { server, gentle, port } = await start(t, ok)
    const sockets = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
    for (const socket of sockets) t.teardown(() => socket.destroy())
    const responses = sockets.map(async (socket) => {
      socket.write(REQUEST)
      const [response] = await once(socket, 'data')
      return String(response).split('\r\n')[0]
    })
    // The next tick opens the connections. The server accepts the first connection later, in an iteration of the event loop.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const finished = gentle.finish({ graceMs: 60_000 })
    t.equal(server.listening, true)
    t.strictSame(
      await Promise.all(responses),
      sockets.map(() => 'HTTP/1.1 200 OK'),
    )
    t.equal(await finished, 0)
  },
)

t.test('finish() closes the listener while clients open one connection after the other', async (t) => {
  const { server, gentle, port } = await start(t, ok)
  const openNext = (): void => void connect(port, '127.0.0.1').on('error', () => undefined)
  server.on('connection', openNext)
  openNext()
  await once(server, 'connection')
  t.equal(await gentle.finish({ graceMs: 60_000 }), 0)
})

t.test('a pause of the whole machine does not make a connection idle', async (t) => {
  const { server, gentle, open } = await start(t, ok)
  const connected = once(server, 'connection')
  const kept = await open()
  const [connection] = await connected
  kept.write(REQUEST)
  await once(kept, 'data')
  const finished = gentle.finish({ graceMs: 60_000 })
  await nextCheck(connection)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400) // blocks the process for 400 ms, which is longer than quietMs
  // A paused client sends its request only after the next check of the server. The check closes idle connections with
  // `setImmediate`, so the test waits for one iteration of the event loop.
  await nextCheck(connection)
  await new Promise(setImmediate)
  if (!t.equal(connection.destroyed, false)) return
  kept.write(REQUEST)
  const [answer] = await once(kept, 'data')
  t.match(String(answer), /^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n/is)
  t.equal(await finished, 0)
})

t.test(
  'after the announcement the server accepts requests and closes each connection after the response',
  async (t) => {
    const { gentle, open } = await start(t, ok)
    gentle.announce()
    const fresh = await open()
    fresh.write(REQUEST)
    const [answer] = await once(fresh, 'data')
    t.match(String(answer), /^HTTP\/1\.1 200 OK\r\n.*connection: close\r\n/is)
    t.equal(await gentle.finish({ graceMs: 60_000 }), 0)
  },
)

t.test(
  'a response in progress completes, and the server cuts an endless response after the grace period',
  async (t) => {
    let release: () => void = () => undefined
    const { server, gentle, open } = await start(t, (request, response) => {
      response.write('begun')
      if (request.url === '/') release = () => response.end('whole')
    })
    const first = await open()
    const asked = once(server, 'request')
    first.write(REQUEST)
    await asked
    const stream = await open()
    const askedAgain = once(server, 'request')
    stream.write('GET /stream HTTP/1.1\r\nhost: a\r\n\r\n')
    await askedAgain
    let received = ''
    first.on('data', (chunk) => (received += chunk))
    const broken = Promise.race([once(stream.resume(), 'close'), once(stream, 'error')])
    const firstEnds = once(first, 'end')
    const finished = gentle.finish({ graceMs: 1_000 })
    release()
    await firstEnds
    t.match(received, /begun[\s\S]*whole[\s\S]*0\r\n\r\n$/)
    t.equal(await finished, 1, 'the stream was cut')
    await broken
  },
)

t.test('finish() ends after the grace period if a poll of the listener does not end', async (t) => {
  const { server, gentle, open } = await start(t, (_request, response) => response.write('begun'))
  const stream = await open()
  const asked = once(server, 'request')
  stream.write(REQUEST)
  await asked
  const broken = Promise.race([once(stream.resume(), 'close'), once(stream, 'error')])
  t.equal(await gentle.finish({ graceMs: 100, pollListener: () => new Promise(() => undefined) }), 1)
  await broken
  t.equal(server.listening, false)
})

t.test('finish() keeps a connection that was quiet for less than quietMs', async (t) => {
  const { gentle, open } = await start(t, ok)
  const kept = await open()
  kept.write(REQUEST)
  await once(kept, 'data')
  const closed = once(kept.resume(), 'close')
  t.equal(await gentle.finish({ graceMs: 1_000, quietMs: 3_600_000 }), 1, 'cut after the grace period')
  await closed
})
