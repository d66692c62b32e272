import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { until } from '../fixtures/until.ts'

async function startEcho(t: Test): Promise<FaultProxy> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const proxy = await startFaultProxy(typeof address === 'object' && address !== null ? address.port : 0)
  t.teardown(async () => {
    await proxy.close()
    server.close()
  })
  return proxy
}

function open(proxy: FaultProxy): Socket {
  return connect({ port: proxy.port, host: proxy.host, allowHalfOpen: true }).on('error', () => undefined)
}

async function readAll(socket: Socket): Promise<{ text: string; pieces: number; reset: boolean }> {
  let text = ''
  let pieces = 0
  let reset = false
  socket.on('error', (error) => (reset = 'code' in error && error.code === 'ECONNRESET'))
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    pieces += 1
  })
  await new Promise((resolve) => socket.once('close', resolve).once('end', resolve))
  socket.destroy()
  return { text, pieces, reset }
}

t.test('startFaultProxy() forwards bytes and the end unchanged in both directions', async (t) => {
  const proxy = await startEcho(t)
  const socket = open(proxy)
  const sent = 'x'.repeat(500_000)
  socket.end(sent)
  const { text, reset } = await readAll(socket)
  t.equal(text, sent)
  t.equal(reset, false)
  t.same([proxy.connections, proxy.bytes], [1, { toTarget: sent.length, toClient: sent.length, lost: 0 }])
})

t.test('startFaultProxy() resets the connection after the configured number of bytes', async (t) => {
  const proxy = await startEcho(t)
  proxy.toClient({ resetAfterBytes: 4 })
  const socket = open(proxy)
  socket.write('123456')
  const { text, reset } = await readAll(socket)
  t.equal(reset, true)
  t.ok('1234'.startsWith(text), 'a reset may overtake bytes')
})

t.test('startFaultProxy() ends the connection after the configured number of bytes', async (t) => {
  const proxy = await startEcho(t)
  proxy.toClient({ closeAfterBytes: 4 })
  const socket = open(proxy)
  socket.write('123456')
  t.match(await readAll(socket), { text: '1234', reset: false })
})

t.test(
  'startFaultProxy() discards all bytes while it is a black hole, and forwards later bytes',
  async (t) => {
    const proxy = await startEcho(t)
    proxy.toTarget({ blackHole: true })
    const socket = open(proxy)
    socket.write('lost')
    await until('the loss', async () => proxy.bytes.lost === 4)
    proxy.heal()
    socket.end('kept')
    t.equal((await readAll(socket)).text, 'kept')
  },
)

t.test('startFaultProxy() slices, delays and throttles bytes', async (t) => {
  const proxy = await startEcho(t)
  proxy.toClient({ sliceBytes: 1, latencyMs: 20 })
  const sliced = open(proxy)
  sliced.end('abcdef')
  const slices = await readAll(sliced)
  t.equal(slices.text, 'abcdef')
  t.ok(slices.pieces > 3, 'in slices; the system may put two together when it is busy')
  proxy.toClient({ bytesPerSecond: 10_000 })
  const slow = open(proxy)
  slow.end('y'.repeat(1_000))
  const { text, pieces } = await readAll(slow)
  t.equal(text.length, 1_000)
  t.ok(pieces > 3, 'the bytes arrive in several pieces')
  proxy.toClient({ slowCloseMs: 20 })
  const lingering = open(proxy)
  lingering.end('z')
  t.match(await readAll(lingering), { text: 'z', reset: false })
})

t.test('startFaultProxy() stops, and starts again on the same port', async (t) => {
  const proxy = await startEcho(t)
  const before = open(proxy)
  before.write('a')
  await once(before, 'data')
  const reset = readAll(before)
  await proxy.down()
  t.equal((await reset).reset, true)
  const rejected = open(proxy)
  const [error] = await once(rejected, 'error')
  t.equal(error.code, 'ECONNREFUSED')
  await proxy.up()
  const after = open(proxy)
  after.end('b')
  t.equal((await readAll(after)).text, 'b')
})
