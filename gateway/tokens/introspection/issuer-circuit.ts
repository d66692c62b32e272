import { Circuit } from '../../upstreams/circuit.ts'

/** The circuit breaker of an issuer: requests do not wait for an issuer that fails. */
export type IssuerCircuit = {
  /** Undefined: the issuer may be asked. Otherwise the time until the next test. Milliseconds. */
  refusedForMs(): number | undefined
  began(): void
  answered(): void
  /** @param startedMs when the question began: an answer that came since makes up for it. */
  failed(startedMs: number): void
  ended(): void
}

/** So many failures in a row, and it is not asked for a while. */
const FAILURES = 5
/** Pauses begin with a second and double; after this one question tries whether the issuer is back. Milliseconds. */
const LONGEST_PAUSE_MS = 5_000
/** While that question is on its way, the others need not wait for long. Milliseconds. */
const TRIAL_MS = 1_000

/** `tickMs` is monotonic. `onChange` hears when the issuer is given up, and when it answers again. */
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
    began: () => circuit.began(),
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
    ended: () => circuit.ended(),
  }
}
