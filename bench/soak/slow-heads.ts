import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Measurement, measuredCount } from './measurement.ts'
import { measuredProbe, startProbe } from './probe.ts'
import type { SoakGateway } from './start-soak-gateway.ts'

const LIMIT_SECONDS = 15
const DRIP_EVERY_MS = 1_000
const GIVE_UP_MS = 30_000
const POLL_INTERVAL_MS = 25

/**
 * Opens connections that send a request head line by line and never complete the head. At the same time, a normal
 * client sends requests.
 */
export async function measureSlowHeads(
  gateway: SoakGateway,
  attackers: number,
): Promise<readonly Measurement[]> {
  const { hostname, port, host } = new URL(gateway.url)
  const startedMs = performance.now()
  let closed = 0
  let lastClosedMs = 0
  const sockets = Array.from({ length: attackers }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      closed += 1
      lastClosedMs = performance.now() - startedMs
    })
    socket.write(`GET /pub/slow HTTP/1.1\r\nhost: ${host}\r\n`)
    socket.resume()
    return socket
  })
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x-a: b\r\n')
  }, DRIP_EVERY_MS)
  const probe = startProbe(`${gateway.url}/pub/healthy?bytes=2`)
  while (closed < attackers && performance.now() - startedMs < GIVE_UP_MS) await wait(POLL_INTERVAL_MS)
  const probed = await probe.stop()
  clearInterval(dripping)
  const closedInTime = closed
  for (const socket of sockets) socket.destroy()
  const what = `${attackers} slow heads`
  return [
    measuredCount(`${what}: closed`, closedInTime, attackers),
    {
      what: `${what}: time until the last connection closed`,
      measured: `${(lastClosedMs / 1_000).toFixed(1)} s`,
      limit: `<= ${LIMIT_SECONDS} s`,
      passed: closedInTime === attackers && lastClosedMs <= LIMIT_SECONDS * 1_000,
    },
    ...measuredProbe(what, probed),
  ]
}
