import type { ConnectionPool } from './http1/connection-pool.ts'
import { readResponse } from './read-response.ts'
import { type UpstreamFailureReason, upstreamFailure } from './upstream-failure.ts'

export type HealthCheckSettings = {
  /** Path and query of a probe. The base path of the upstream comes before this path. */
  readonly path: string
  /** Pause between the end of a probe and the start of the next probe. Milliseconds. */
  readonly intervalMs: number
  /** Time from the start of a probe to the end of its response. Milliseconds. */
  readonly timeoutMs: number
  /** Consecutive failed probes after which a healthy target is unhealthy. */
  readonly unhealthyAfter: number
  /** Consecutive successful probes after which an unhealthy target is healthy. */
  readonly healthyAfter: number
  /** Statuses of a successful probe. Undefined: 200 to 399. */
  readonly statuses: readonly number[] | undefined
}

/** Result of a probe, for metrics. `status`: the status shows that the target is unhealthy. */
export type ProbeResult = 'success' | 'status' | UpstreamFailureReason

export type HealthCheckOptions = HealthCheckSettings & {
  /** Opens the pool of one probe. */
  readonly openPool: () => ConnectionPool
  /** Returns a number from 0 to 1, for the time of the first probe. */
  readonly random: () => number
  readonly onProbed: (result: ProbeResult) => void
  /** Called with the deciding result when the target becomes unhealthy or healthy. */
  readonly onChange: (isHealthy: boolean, probe: string) => void
}

/** The gateway reads at most this part of the body of a probe. */
const BODY_LIMIT_BYTES = 64 * 1024
const HEADERS = ['user-agent', 'scopegate-health-check', 'accept', '*/*']

/** Sends probes to one target, one at a time, until `close()`. */
export class HealthCheck {
  readonly #options: HealthCheckOptions
  #isHealthy = true
  /** Number of consecutive results that contradict the current state. */
  #contradictions = 0
  #timer: NodeJS.Timeout
  #pool: ConnectionPool | undefined
  #closed = false

  constructor(options: HealthCheckOptions) {
    this.#options = options
    // The random start distributes the probes of several gateways and workers.
    this.#timer = this.#startIn(options.random() * options.intervalMs)
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    void this.#pool?.destroy()
  }

  #startIn(pauseMs: number): NodeJS.Timeout {
    return setTimeout(() => void this.#probe(), pauseMs).unref()
  }

  async #probe(): Promise<void> {
    const { path, intervalMs, timeoutMs, openPool } = this.#options
    this.#pool = openPool()
    const response = await sendProbe(this.#pool, path, timeoutMs)
    void this.#pool.destroy()
    if (this.#closed) return
    this.#timer = this.#startIn(intervalMs)
    this.#record(response)
  }

  #record(response: number | Error): void {
    const { unhealthyAfter, healthyAfter, onProbed, onChange } = this.#options
    const result = this.#resultOf(response)
    onProbed(result)
    // A gateway without free descriptors knows nothing about the target.
    if (result === 'descriptors') return
    const isGood = result === 'success'
    if (isGood === this.#isHealthy) {
      this.#contradictions = 0
      return
    }
    this.#contradictions += 1
    if (this.#contradictions < (isGood ? healthyAfter : unhealthyAfter)) return
    this.#contradictions = 0
    this.#isHealthy = isGood
    onChange(isGood, typeof response === 'number' ? `status ${response}` : result)
  }

  #resultOf(response: number | Error): ProbeResult {
    if (typeof response !== 'number') return upstreamFailure(response).reason
    const { statuses } = this.#options
    const isGood = statuses === undefined ? response >= 200 && response < 400 : statuses.includes(response)
    return isGood ? 'success' : 'status'
  }
}

/** Sends one request and reads the response. Never rejects. */
function sendProbe(pool: ConnectionPool, path: string, timeoutMs: number): Promise<number | Error> {
  return readResponse(pool, { path, headers: HEADERS, timeoutMs, limitBytes: BODY_LIMIT_BYTES }).then(
    ({ status }) => status,
    (error: Error) => error,
  )
}
