import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Measurement, measuredCount, measuredRss } from './measurement.ts'
import { measuredProbe, startProbe } from './probe.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { watchRss } from './watch-rss.ts'

const LIMIT_MIB = 350
const CONCURRENCY = 100
const PROBED_MS = 5_000
/**
 * Limit for the 99th percentile of the request duration while the idle connections are open. Applies to a machine
 * without other load. Milliseconds.
 */
const LIMIT_P99_MS = 5

/**
 * Opens keep-alive connections, and sends one request on each connection. The connections are then idle while other
 * clients send requests.
 */
export async function measureIdleConnections(
  gateway: SoakGateway,
  connections: number,
): Promise<readonly Measurement[]> {
  const { hostname, port, host } = new URL(gateway.url)
  const rss = watchRss(gateway.process.pid)
  const startedMs = performance.now()
  const sockets: Socket[] = []
  const open = async (): Promise<void> => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.write(`GET /pub/idle?bytes=2 HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    await once(socket, 'data')
  }
  for (let opened = 0; opened < connections; opened += CONCURRENCY)
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, connections - opened) }, open))
  const seconds = (performance.now() - startedMs) / 1_000
  const probe = startProbe(`${gateway.url}/pub/probe?bytes=2`)
  await wait(PROBED_MS)
  const probed = await probe.stop()
  rss.stop()
  const kept = sockets.filter((socket) => !socket.closed && !socket.readableEnded).length
  for (const socket of sockets) socket.destroy()
  const what = `${connections} idle connections`
  return [
    measuredRss(what, rss.peakBytes, LIMIT_MIB),
    measuredCount(`${what}: kept open`, kept, connections),
    {
      what: `${what}: time until all were open and answered`,
      measured: `${seconds.toFixed(1)} s`,
      limit: '<= 15 s',
      passed: seconds <= 15,
    },
    ...measuredProbe(what, probed, LIMIT_P99_MS),
  ]
}
