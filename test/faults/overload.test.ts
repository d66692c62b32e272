import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

/** Headers of 60 KB. The gateway keeps the headers in memory until the end of the request. */
const HEADERS = Array.from({ length: 60 }, (_, n) => `x-filler-${n}: ${'x'.repeat(1_000)}\r\n`).join('')

/** Time limit for the rejection of requests, and for the recovery. A busy machine fills a heap slowly. */
const FILL_LIMIT_MS = 120_000

/** Starts an upstream that accepts requests and holds every response until the test releases it. */
async function startHangingUpstream(t: Test) {
  const sockets = new Set<Socket>()
  let answers = false
  let taken = 0
  const answer = (socket: Socket): void =>
    void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok')
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.once('data', () => {
      taken += 1
    })
    socket.on('data', () => answers && answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    /** Number of connections that have sent a request. */
    get taken() {
      return taken
    },
    release() {
      answers = true
      for (const socket of sockets) answer(socket)
    },
  }
}

const metric = async (gateway: SoakGateway, name: string): Promise<number> =>
  sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), name)

t.test('when requests fill the heap, the gateway rejects requests, stays up and recovers', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const upstream = await startHangingUpstream(t)
  const gateway = await startSoakGateway({
    folder: t.testdir(),
    cleanup,
    upstream: upstream.url,
    upstreamSettings: { timeout: '5m' }, // requests do not time out
    nodeOptions: ['--max-old-space-size=128'],
    // The defaults of `overload.heap` apply, because the process would otherwise run out of memory. `loopDelay` is
    // long, so that CPU load does not cause earlier rejections.
    settings: { limits: { headers: '100KiB' }, overload: { loopDelay: { close: '1m', refuse: '1m' } } },
  })
  const { hostname, port } = new URL(gateway.url)
  const sockets = new Set<Socket>()
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  let sent = 0
  let answered = 0
  function attack(): void {
    const socket = connect(Number(port), hostname)
    sent += 1
    sockets.add(socket)
    socket.once('data', () => {
      answered += 1
    })
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket) && socket.bytesRead === 0 && answered++)
    socket.write(`GET /pub/x HTTP/1.1\r\nhost: a\r\n${HEADERS}\r\n`)
  }
  await until(
    'requests are rejected',
    async () => {
      // Waits for the previous batch. Otherwise the system would buffer requests, and the gateway would receive all
      // batches together.
      if (upstream.taken + answered < sent) return false
      for (let n = 0; n < 50; n++) attack()
      return (await metric(gateway, 'scopegate_overload_refused_total{reason="heap"}')) > 100
    },
    FILL_LIMIT_MS,
  )
  t.equal(gateway.process.child.exitCode, null)
  t.equal((await fetch(`${gateway.managementUrl}/livez`)).status, 200)

  upstream.release()
  for (const socket of sockets) socket.destroy()
  await until(
    'it serves as usual again',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => fetch(`${gateway.url}/pub/x`)))
      for (const answer of answers) await answer.text()
      return answers.every(({ status, headers }) => status === 200 && headers.get('connection') !== 'close')
    },
    FILL_LIMIT_MS,
  )
  t.equal(await metric(gateway, 'scopegate_overload_level'), 0)
  t.equal(gateway.process.child.exitCode, null)
})
