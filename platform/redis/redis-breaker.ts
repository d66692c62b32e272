/** A circuit breaker, so that requests do not wait for a failing service. */
export type Breaker = {
  /**
   * Returns true when the service can be used. While the circuit is open, starts `probe` periodically, and no caller
   * waits for it.
   */
  isClosed(nowMs: number): boolean
  succeeded(): void
  failed(nowMs: number): void
}

/** Number of consecutive failures that opens the circuit. */
const FAILURES = 5
const PROBE_EVERY_MS = 1_000

/** `probe` resolves when the service works again. `onChange` runs each time the circuit opens or closes. */
export function createBreaker(options: {
  readonly probe: () => Promise<unknown>
  readonly onChange: (isClosed: boolean) => void
}): Breaker {
  let failures = 0
  let probeAtMs = 0

  function succeeded(): void {
    if (failures >= FAILURES) options.onChange(true)
    failures = 0
  }

  return {
    isClosed(nowMs) {
      if (failures < FAILURES) return true
      if (nowMs >= probeAtMs) {
        probeAtMs = nowMs + PROBE_EVERY_MS
        options.probe().then(succeeded, () => undefined)
      }
      return false
    },
    succeeded,
    failed(nowMs) {
      failures += 1
      if (failures !== FAILURES) return
      probeAtMs = nowMs + PROBE_EVERY_MS
      options.onChange(false)
    },
  }
}
