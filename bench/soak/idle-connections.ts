import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Measurement, measuredCount, measuredRss } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { watchRss } from './watch-rss.ts'

const BAR_MIB = 350
const AT_ONCE = 100
const PROBES = 500

/** Opens kept-alive connections, one request on each, and leaves them idle while others are served. */
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
  for (let opened = 0; opened < connections; opened += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, connections - opened) }, open))
  const seconds = (performance.now() - startedMs) / 1_000
  const times: number[] = []
  for (let probe = 0; probe < PROBES; probe++) {
    const atMs = performance.now()
    await (await fetch(`${gateway.url}/pub/probe?bytes=2`)).text()
    times.push(performance.now() - atMs)
  }
  rss.stop()
  const kept = sockets.filter((socket) => !socket.closed && !socket.readableEnded).length
  for (const socket of sockets) socket.destroy()
  const what = `${connections} idle connections`
  return [
    measuredRss(what, rss.peakBytes, BAR_MIB),
    measuredCount(`${what}: kept open`, kept, connections),
    {
      what: `${what}: opened and answered in`,
      measured: `${seconds.toFixed(1)} s`,
      bar: '<= 15 s',
      held: seconds <= 15,
    },
    {
      what: `${what}: p99 of a request beside them`,
      measured: `${readPercentile(times, 0.99).toFixed(1)} ms`,
      bar: 'none',
      held: undefined,
    },
  ]
}
