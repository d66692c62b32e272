import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Measurement, measuredCount } from './measurement.ts'
import { measuredProbe, type ProbeResult, startProbe } from './probe.ts'
import { readPercentile } from './read-percentile.ts'
import type { HangingUpstream } from './start-hanging-upstream.ts'
import type { SoakGateway } from './start-soak-gateway.ts'

export type HungCallsOptions = {
  readonly gateway: SoakGateway
  readonly upstream: HangingUpstream
  readonly calls: number
  /** The gateway waits this long for an upstream. Milliseconds. */
  readonly timeoutMs: number
  /** Duration of each measurement of the healthy route. Must be shorter than the timeout. Milliseconds. */
  readonly probedMs: number
}

const MAX_LATE_MS = 250
const MAX_RISE = 1.1
const LIMIT_MS = 30_000
const POLL_INTERVAL_MS = 25

/**
 * Measures a healthy route while other calls wait for an upstream that never responds. For comparison, also measures
 * this route alone before and after the other calls.
 */
export async function measureHungCalls(options: HungCallsOptions): Promise<readonly Measurement[]> {
  const { gateway, upstream, calls, timeoutMs, probedMs } = options
  const before = await probeFor(gateway, probedMs)
  // The connections are already open, so that the times show the gateway's deadline, not the connection setup.
  const agent = new Agent({ keepAlive: true })
  const many = (path: string) => Array.from({ length: calls }, () => ask(`${gateway.url}${path}`, agent))
  await Promise.all(many('/pub/healthy'))
  const asked = many('/pub/hang')
  await until(() => upstream.taken === calls)
  const beside = await probeFor(gateway, probedMs)
  const answers = await Promise.all(asked)
  agent.destroy()
  await until(() => upstream.openConnections === 0)
  const after = await probeFor(gateway, probedMs)
  const alone = {
    times: [...before.times, ...after.times],
    failures: [...before.failures, ...after.failures],
  }
  const lateMs = Math.max(...answers.map(({ ms }) => ms)) - timeoutMs
  const rise = readPercentile(beside.times, 0.99) / readPercentile(alone.times, 0.99)
  const what = `${calls} hung calls`
  return [
    measuredCount(`${what}: reached the upstream`, upstream.taken, calls),
    measuredCount(`${what}: answered 504`, answers.filter(({ status }) => status === 504).length, calls),
    measuredCount(`${what}: remaining connections to the upstream`, upstream.openConnections, 0),
    {
      what: `${what}: largest delay after the timeout`,
      measured: `${lateMs.toFixed(0)} ms`,
      limit: `<= ${MAX_LATE_MS} ms`,
      passed: lateMs <= MAX_LATE_MS,
    },
    ...measuredProbe('without hung calls', alone),
    ...measuredProbe('with hung calls', beside),
    {
      what: 'p99 with hung calls / p99 without',
      measured: `${rise.toFixed(2)} s/s`,
      limit: `<= ${MAX_RISE} s/s`,
      passed: rise <= MAX_RISE,
    },
  ]
}

async function probeFor(gateway: SoakGateway, forMs: number): Promise<ProbeResult> {
  const probe = startProbe(`${gateway.url}/pub/healthy`)
  await wait(forMs)
  return probe.stop()
}

/** Waits until the condition is true, for at most LIMIT_MS. After a timeout, the counts show the missing responses. */
async function until(hasCome: () => boolean): Promise<void> {
  for (let ms = 0; !hasCome() && ms < LIMIT_MS; ms += POLL_INTERVAL_MS) await wait(POLL_INTERVAL_MS)
}

/** @returns the status, and the milliseconds until the end of the response. The status is 0 without a response. */
function ask(url: string, agent: Agent): Promise<{ status: number; ms: number }> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const end = (status: number): void => resolve({ status, ms: performance.now() - startedMs })
    get(url, { agent }, (response) => {
      const status = response.statusCode ?? 0
      response.resume().on('end', () => end(status))
    }).on('error', () => end(0))
  })
}
