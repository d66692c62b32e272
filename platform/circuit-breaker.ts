/**
 * State of a circuit:
 * - `closed`: requests pass.
 * - `open`: requests are rejected.
 * - `half_open`: a trial request tests whether the target has recovered. Other requests are rejected.
 */
export type CircuitState = 'closed' | 'half_open' | 'open'

export type CircuitRules = {
  /** Consecutive failures that open the circuit. */
  readonly failures: number
  /** Upper limit of the pause before a trial. The pause doubles after each failed trial. Milliseconds. */
  readonly longestPauseMs: number
}

/** The request that tests the target of a half-open circuit. */
export type Trial = { readonly startedMs: number }

const FIRST_PAUSE_MS = 1_000
/** Age of a trial without a result at which another request may become the trial. Milliseconds. */
export const LONGEST_TRIAL_MS = 5_000

/**
 * Circuit breaker of one target. A failure counts only if the target sent no response after the failed request began.
 * One slow or broken endpoint therefore does not open the circuit while other endpoints of the target respond. All
 * times are from a monotonic clock.
 */
export class CircuitBreaker {
  readonly #rules: CircuitRules
  readonly #onChange: (isClosed: boolean) => void
  #state: CircuitState = 'closed'
  #failures = 0
  #pauseMs: number
  #pausedUntilMs = 0
  #lastSuccessMs = Number.NEGATIVE_INFINITY
  #halfOpenedMs = 0
  #isHeld = false
  /** The current trial. Undefined: the next request becomes the trial. */
  #trial: Trial | undefined

  /**
   * @param onChange function to call when the circuit opens, and when it closes. A failed trial does not call
   * `onChange`.
   */
  constructor(rules: CircuitRules, onChange: (isClosed: boolean) => void) {
    this.#rules = rules
    this.#onChange = onChange
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, rules.longestPauseMs)
  }

  get state(): CircuitState {
    return this.#state
  }

  /** Whether the circuit is open until a probe reaches the target. */
  get isWaiting(): boolean {
    return this.#state === 'open' && !this.#isHeld
  }

  /** Returns whether a request may be sent. */
  isAccepting(nowMs: number): boolean {
    return this.#state === 'closed' || (this.#state === 'half_open' && this.#mayTry(nowMs))
  }

  /** Time between the opening of the circuit and the first probe of the target. Milliseconds. */
  get pauseMs(): number {
    return this.#pauseMs
  }

  /**
   * Returns undefined when a request may be sent. Otherwise returns the time until the next trial, in milliseconds. At
   * the end of a pause, one request becomes the trial.
   */
  rejectsForMs(nowMs: number): number | undefined {
    if (this.isAccepting(nowMs)) return undefined
    if (this.#state === 'half_open') return FIRST_PAUSE_MS
    const waitMs = this.#pausedUntilMs - nowMs
    if (waitMs > 0) return waitMs
    this.halfOpen(nowMs)
    return undefined
  }

  /**
   * Records the start of a request.
   * @returns the trial, if the request became the trial. The caller must pass the trial to `ended()`.
   */
  started(startedMs: number): Trial | undefined {
    if (this.#state !== 'half_open' || !this.#mayTry(startedMs)) return undefined
    this.#trial = { startedMs }
    return this.#trial
  }

  /** Records that the target started a response. */
  succeeded(nowMs: number): void {
    this.#lastSuccessMs = nowMs
    this.#failures = 0
    if (this.#state === 'closed' || this.#isHeld) return
    this.#close()
    this.#onChange(true)
  }

  /**
   * Records a failure of a request that began at `startedMs`.
   * @returns true when this failure opened the circuit. A failed trial also opens the circuit.
   */
  failed(startedMs: number, nowMs: number): boolean {
    if (this.#lastSuccessMs >= startedMs || this.#state === 'open') return false
    if (this.#state === 'half_open') {
      if (startedMs < this.#halfOpenedMs) return false
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#rules.longestPauseMs)
      this.#open(nowMs)
      return true
    }
    this.#failures += 1
    if (this.#failures < this.#rules.failures) return false
    this.#open(nowMs)
    this.#onChange(false)
    return true
  }

  /**
   * Records the end of a request, with or without a response.
   * @param trial the result of `started()`.
   */
  ended(trial: Trial | undefined): void {
    if (trial === this.#trial) this.#trial = undefined
  }

  /** Opens the circuit until `release()`. Until then, results of requests do not close it. Does not call `onChange`. */
  hold(): void {
    this.#isHeld = true
    this.#state = 'open'
    this.#failures = 0
  }

  /** Ends `hold()` and closes the circuit. Does not call `onChange`. */
  release(): void {
    this.#isHeld = false
    this.#close()
  }

  /** Allows a trial, after a probe has reached the target. */
  halfOpen(nowMs: number): void {
    if (!this.isWaiting) return
    this.#state = 'half_open'
    this.#halfOpenedMs = nowMs
    this.#trial = undefined
  }

  /** Returns whether a request may become the trial. A slow trial blocks other requests only for LONGEST_TRIAL_MS. */
  #mayTry(nowMs: number): boolean {
    return this.#trial === undefined || nowMs - this.#trial.startedMs >= LONGEST_TRIAL_MS
  }

  #close(): void {
    this.#state = 'closed'
    this.#trial = undefined
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, this.#rules.longestPauseMs)
  }

  #open(nowMs: number): void {
    this.#state = 'open'
    this.#failures = 0
    this.#pausedUntilMs = nowMs + this.#pauseMs
  }
}
