import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Measurement, measuredCount, measuredRss } from './measurement.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { watchRss } from './watch-rss.ts'

const LIMIT_MIB = 300
const BYTES = 100 * 1_000_000
const READ_EVERY_MS = 500
const MAX_BEGIN_MS = 60_000
const BEGIN_CHECK_MS = 50

/** Each client requests 100 MB, reads the response in small pieces, and disconnects after `seconds` seconds. */
export async function measureSlowReaders(
  gateway: SoakGateway,
  options: { readonly readers: number; readonly seconds: number },
): Promise<readonly Measurement[]> {
  const { hostname, port, host } = new URL(gateway.url)
  const rss = watchRss(gateway.process.pid)
  const begun = new Map<Socket, number>()
  const sockets = Array.from({ length: options.readers }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write(`GET /pub/slow?bytes=${BYTES} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    socket.on('data', (bytes) => {
      begun.set(socket, (begun.get(socket) ?? 0) + bytes.length)
      socket.pause()
    })
    return socket
  })
  const reading = setInterval(() => {
    for (const socket of sockets) socket.resume()
  }, READ_EVERY_MS)
  // On a busy machine, the start of all clients takes time. The measured time begins after their start.
  for (let ms = 0; begun.size < options.readers && ms < MAX_BEGIN_MS; ms += BEGIN_CHECK_MS)
    await wait(BEGIN_CHECK_MS)
  await wait(options.seconds * 1_000)
  const kept = sockets.filter((socket) => begun.has(socket) && !socket.closed).length
  const taken = Math.max(...begun.values())
  clearInterval(reading)
  for (const socket of sockets) socket.destroy()
  rss.stop()
  const what = `${options.readers} slow readers of 100 MB, ${options.seconds} s`
  return [
    measuredRss(what, rss.peakBytes, LIMIT_MIB),
    measuredCount(`${what}: still open`, kept, options.readers),
    {
      what: `${what}: read by the fastest`,
      measured: `${(taken / 1e6).toFixed(1)} MB`,
      limit: `< ${BYTES / 1e6} MB`,
      passed: taken > 0 && taken < BYTES,
    },
  ]
}
