import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { mock } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { gracefulClose } from '../../../platform/net/graceful-close.ts'
import { rawSocketOf } from '../../../platform/net/raw-socket.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { until } from '../../fixtures/until.ts'

const GRACE_MS = 60_000

/** Starts a server with gracefulClose(). The test controls the clock and the timer of the checks. */
async function start(t: Test, server: Server) {
  const clock = { nowMs: 0 }
  mock.timers.enable({ apis: ['setInterval'] })
  mock.method(performance, 'now', () => clock.nowMs)
  const graceful = gracefulClose(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    mock.restoreAll()
    mock.timers.reset()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  /**
   * Advances the clock by `afterMs`, and runs one check of the connections. Waits until the resulting closes are
   * complete.
   */
  const look = async (afterMs: number): Promise<void> => {
    clock.nowMs += afterMs
    mock.timers.tick(25)
    await new Promise((resolve) => setImmediate(resolve))
  }
  /** Runs a check every `everyMs` until the server closes the connection. Returns the number of checks. */
  const looksUntilClose = async (socket: Socket, everyMs: number): Promise<number> => {
    for (let looks = 1; looks <= 100; looks++) {
      await look(everyMs)
      if (socket.destroyed) return looks
    }
    return Number.POSITIVE_INFINITY
  }
  return { graceful, port, look, looksUntilClose }
}

/** Opens a connection, and completes one request. Returns the two ends of the connection. */
async function idleConnection(
  t: Test,
  server: Server,
  port: number,
): Promise<{ client: Socket; socket: Socket }> {
  const client = connect(port, '127.0.0.1')
  t.teardown(() => client.destroy())
  const connected = once(server, 'connection') as Promise<[Socket]>
  const answered = once(client, 'data')
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await answered
  const [socket] = await connected
  return { client, socket }
}

for (const [quietMs, everyMs, looks] of [
  [undefined, 50, 5],
  [undefined, 25, 9],
  [undefined, 10_000, 5],
  [1, 50, 5],
  [300, 50, 7],
] as const)
  t.test(
    `finish() closes an idle connection at check ${looks}: quietMs ${quietMs}, a check each ${everyMs} ms`,
    async (t) => {
      const server = createServer((_request, response) => response.end('ok'))
      const { graceful, port, looksUntilClose } = await start(t, server)
      const { socket } = await idleConnection(t, server, port)
      const finished = graceful.finish({ graceMs: GRACE_MS, ...(quietMs === undefined ? {} : { quietMs }) })
      t.equal(await looksUntilClose(socket, everyMs), looks)
      t.equal(await finished, 0)
    },
  )

t.test(
  'finish() waits again after received bytes, and closes no connection with a response in progress',
  async (t) => {
    let end = (): void => undefined
    const server = createServer((_request, response) => {
      end = () => response.end('ok')
    })
    const { graceful, port, look } = await start(t, server)
    const client = connect(port, '127.0.0.1')
    t.teardown(() => client.destroy())
    const connected = once(server, 'connection') as Promise<[Socket]>
    client.write('GET / HTTP/1.1\r\nhost: a\r\n')
    const [socket] = await connected
    await until('the server reads the head', async () => socket.bytesRead > 0)
    const finished = graceful.finish({ graceMs: GRACE_MS })
    for (let looks = 0; looks < 4; looks++) await look(50)
    const bytes = socket.bytesRead
    client.write('a: b\r\n')
    await until('the server reads a header', async () => socket.bytesRead > bytes)
    for (let looks = 0; looks < 4; looks++) await look(50)
    t.equal(socket.destroyed, false, 'bytes arrived')
    const asked = once(server, 'request')
    client.write('\r\n')
    await asked
    for (let looks = 0; looks < 20; looks++) await look(50)
    t.equal(socket.destroyed, false, 'a response is in progress')
    const closed = once(socket, 'close')
    end()
    await closed
    t.equal(await finished, 0)
  },
)

t.test('finish() counts the quiet time of an incomplete request from its last bytes', async (t) => {
  const server = createServer((_request, response) => response.end('ok'))
  const { graceful, port, look, looksUntilClose } = await start(t, server)
  const { client, socket } = await idleConnection(t, server, port)
  const finished = graceful.finish({ graceMs: GRACE_MS })
  for (let looks = 0; looks < 3; looks++) await look(50)
  const bytes = socket.bytesRead
  client.write('GET')
  await until('the server reads the bytes', async () => socket.bytesRead > bytes)
  t.equal(await looksUntilClose(socket, 50), 5)
  t.equal(await finished, 0)
})

t.test('finish() keeps an upgraded connection until the end of the grace period', async (t) => {
  const server = createServer((_request, response) => response.end('ok'))
  server.on('upgrade', (_request, socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  )
  const { graceful, port, look } = await start(t, server)
  const client = connect(port, '127.0.0.1')
  t.teardown(() => client.destroy())
  const answered = once(client, 'data')
  const connected = once(server, 'connection') as Promise<[Socket]>
  client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  await answered
  const [socket] = await connected
  const other = await idleConnection(t, server, port)
  const left = once(other.socket, 'close')
  other.client.destroy()
  await left
  const finished = graceful.finish({ graceMs: 300 })
  for (let looks = 0; looks < 20; looks++) await look(50)
  t.equal(socket.destroyed, false)
  t.equal(await finished, 1)
  t.equal(socket.closed, true)
})

t.test('announce() adds Connection: close once to the response of each kind of request', async (t) => {
  const server = createServer((_request, response) => response.end('ok'))
  server.on('checkExpectation', (_request, response) => response.end('odd'))
  server.on('checkContinue', (_request, response) => response.end('continue'))
  const { graceful, port } = await start(t, server)
  const listeners = () =>
    ['request', 'checkContinue', 'checkExpectation'].map((event) => server.listenerCount(event))
  t.strictSame(listeners(), [1, 1, 1])
  graceful.announce()
  graceful.announce()
  t.strictSame(listeners(), [2, 2, 2])
  for (const expect of ['', 'expect: 100-continue\r\n', 'expect: something\r\n']) {
    const client = connect(port, '127.0.0.1')
    client.write(`GET / HTTP/1.1\r\nhost: a\r\n${expect}\r\n`)
    const [answer] = await once(client, 'data')
    t.match(String(answer), /\r\nconnection: close\r\n/i, expect)
    client.destroy()
  }
  await graceful.finish({ graceMs: GRACE_MS })
  t.strictSame(listeners(), [2, 2, 2])
})

async function startTls(t: Test) {
  const certificate = aCertificate()
  const server = createTlsServer({ cert: certificate.cert, key: certificate.key }, (_request, response) =>
    response.end('ok'),
  )
  const handshakes: TLSSocket[] = []
  server.on('secureConnection', (socket) => handshakes.push(socket))
  return { ...(await start(t, server)), server, handshakes }
}

t.test('finish() closes an idle TLS connection like a connection without TLS', async (t) => {
  const { graceful, port, looksUntilClose, handshakes } = await startTls(t)
  const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
  t.teardown(() => client.destroy())
  await once(client, 'secureConnect')
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(client, 'data')
  const [socket] = handshakes as [TLSSocket]
  t.type(rawSocketOf(socket), 'Socket')
  const finished = graceful.finish({ graceMs: GRACE_MS })
  t.equal(await looksUntilClose(socket, 50), 5)
  t.equal(await finished, 0)
})

for (const [quietMs, looks] of [
  [undefined, 41],
  [3_000, 61],
] as const)
  t.test(
    `finish() closes a connection without a TLS handshake at check ${looks}: quietMs ${quietMs}`,
    async (t) => {
      const { graceful, port, server, looksUntilClose } = await startTls(t)
      const connected = once(server, 'connection') as Promise<[Socket]>
      const client = connect(port, '127.0.0.1').on('error', () => undefined)
      t.teardown(() => client.destroy())
      const [socket] = await connected
      const finished = graceful.finish({ graceMs: GRACE_MS, ...(quietMs === undefined ? {} : { quietMs }) })
      t.equal(await looksUntilClose(socket, 50), looks)
      t.equal(await finished, 0)
    },
  )

t.test(
  'finish() closes a connection without a TLS handshake at the end of the grace period, and does not count it',
  async (t) => {
    const { graceful, port, server } = await startTls(t)
    const connected = once(server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1').on('error', () => undefined)
    t.teardown(() => client.destroy())
    const [socket] = await connected
    t.equal(await graceful.finish({ graceMs: 1 }), 0)
    t.equal(socket.destroyed, true)
  },
)
