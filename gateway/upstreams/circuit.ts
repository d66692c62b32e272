/**
 * - `closed`: requests pass
 * - `open`: requests are rejected
 * - `half_open`: one request at a time tests whether the target has recovered
 */
export type CircuitState = 'closed' | 'half_open' | 'open'

export type CircuitRules = {
  /** Consecutive failures that open the circuit. */
  readonly failures: number
  /** Upper limit of the pause before a trial. The pause doubles after each failed trial. Milliseconds. */
  readonly longestPauseMs: number
}

const FIRST_PAUSE_MS = 1_000

/**
 * Circuit breaker of one target. A failure counts only if the target sent no response after the failed request began.
 * One slow or broken endpoint therefore does not eject a target that serves the others. All times are from a monotonic
 * clock.
 */
export class Circuit {
  readonly #rules: CircuitRules
  #state: CircuitState = 'closed'
  #failures = 0
  #pauseMs: number
  #lastAnswerMs = Number.NEGATIVE_INFINITY
  #halfOpenedMs = 0
  /** Start of the trial request. NaN: no trial request is in progress. */
  #trialStartedMs = Number.NaN

  constructor(rules: CircuitRules) {
    this.#rules = rules
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, rules.longestPauseMs)
  }

  get state(): CircuitState {
    return this.#state
  }

  get takes(): boolean {
    return this.#state === 'closed' || (this.#state === 'half_open' && Number.isNaN(this.#trialStartedMs))
  }

  /** Time between the opening of the circuit and the first probe of the target. Milliseconds. */
  get pauseMs(): number {
    return this.#pauseMs
  }

  /** Records the start of a request. The first one after `halfOpen()` is the trial. */
  began(startedMs: number): void {
    if (this.#state === 'half_open' && Number.isNaN(this.#trialStartedMs)) this.#trialStartedMs = startedMs
  }

  /**
   * Records that the target began a response.
   * @returns whether the circuit closed.
   */
  answered(nowMs: number): boolean {
    this.#lastAnswerMs = nowMs
    this.#failures = 0
    if (this.#state === 'closed') return false
    this.#state = 'closed'
    this.#trialStartedMs = Number.NaN
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, this.#rules.longestPauseMs)
    return true
  }

  /**
   * Records a failure of a request that began at `startedMs`.
   * @returns whether the circuit opened.
   */
  failed(startedMs: number): boolean {
    if (this.#lastAnswerMs >= startedMs) return false
    if (this.#state === 'half_open') {
      if (startedMs < this.#halfOpenedMs) return false
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#rules.longestPauseMs)
      return this.#open()
    }
    if (this.#state === 'open') return false
    this.#failures += 1
    return this.#failures >= this.#rules.failures && this.#open()
  }

  /** Records the end of the request that began at `startedMs`, with or without a response. */
  ended(startedMs: number): void {
    if (startedMs === this.#trialStartedMs) this.#trialStartedMs = Number.NaN
  }

  /** Lets one request through, after a probe has reached the target. */
  halfOpen(nowMs: number): void {
    if (this.#state !== 'open') return
    this.#state = 'half_open'
    this.#halfOpenedMs = nowMs
    this.#trialStartedMs = Number.NaN
  }

  #open(): true {
    this.#state = 'open'
    this.#failures = 0
    return true
  }
}
