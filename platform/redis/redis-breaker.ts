/** A circuit breaker: requests do not wait for a service that fails. */
export type Breaker = {
  /** Whether to use the service. While the circuit is open, starts `probe` from time to time; no request waits for it. */
  isClosed(nowMs: number): boolean
  succeeded(): void
  failed(nowMs: number): void
}

/** So many failures in a row, and it is not asked any more. */
const FAILURES = 5
const PROBE_EVERY_MS = 1_000

/** `probe` resolves when the helper works again; `onChange` hears of every change. */
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
