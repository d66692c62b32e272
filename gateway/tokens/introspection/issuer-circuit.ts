import { Circuit } from '../../upstreams/circuit.ts'

export type IssuerCircuit = {
  /**
   * Returns undefined when a request may be sent. Otherwise returns the time until the next test request, in
   * milliseconds.
   */
  refusedForMs(): number | undefined
  began(startedMs: number): void
  answered(): void
  /** @param startedMs start of the request. The failure does not count if the issuer has responded since then. */
  failed(startedMs: number): void
  /** @param startedMs start of the request, as in `began()`. */
  ended(startedMs: number): void
}

/** Consecutive failures that open the circuit. */
const FAILURES = 5
/**
 * Maximum pause. Pauses start at one second and double. After a pause, one test request checks whether the issuer
 * responds again. Milliseconds.
 */
const LONGEST_PAUSE_MS = 5_000
/** Retry delay for other requests while the test request is in progress. Milliseconds. */
const TRIAL_MS = 1_000

/**
 * Creates the circuit breaker of an issuer. `tickMs` is monotonic. `onChange` is called when the circuit opens and when
 * it closes.
 */
export function createIssuerCircuit(options: {
  readonly tickMs: () => number
  readonly onChange: (isClosed: boolean) => void
}): IssuerCircuit {
  const { tickMs, onChange } = options
  const circuit = new Circuit({ failures: FAILURES, longestPauseMs: LONGEST_PAUSE_MS })
  let trialAtMs = 0
  let isClosed = true

  return {
    refusedForMs() {
      if (circuit.takes) return undefined
      if (circuit.state === 'half_open') return TRIAL_MS
      const waitMs = trialAtMs - tickMs()
      if (waitMs > 0) return waitMs
      circuit.halfOpen(tickMs())
      return undefined
    },
    began: (startedMs) => circuit.began(startedMs),
    answered() {
      circuit.answered(tickMs())
      if (isClosed) return
      isClosed = true
      onChange(true)
    },
    failed(startedMs) {
      if (!circuit.failed(startedMs)) return
      trialAtMs = tickMs() + circuit.pauseMs
      if (!isClosed) return
      isClosed = false
      onChange(false)
    },
    ended: (startedMs) => circuit.ended(startedMs),
  }
}
