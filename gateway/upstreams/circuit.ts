/** `closed`: requests pass. `open`: none do. `half_open`: one at a time, to see whether the target is back. */
export type CircuitState = 'closed' | 'half_open' | 'open'

/** When an address gets no requests, and how often it is tried then. */
export type CircuitRules = {
  /** So many failures in a row open the circuit. */
  readonly failures: number
  /** Pauses between trials double up to this. Milliseconds. */
  readonly longestPauseMs: number
}

const FIRST_PAUSE_MS = 1_000

/**
 * Decides whether a target is worth a request. A failure counts only when the target answered nobody since the request
 * began: one slow or broken address does not take the others with it. Times are those of a clock that never jumps.
 */
export class Circuit {
  readonly #rules: CircuitRules
  #state: CircuitState = 'closed'
  #failures = 0
  #pauseMs: number
  #lastAnswerMs = Number.NEGATIVE_INFINITY
  #halfOpenedMs = 0
  #trial = false

  constructor(rules: CircuitRules) {
    this.#rules = rules
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, rules.longestPauseMs)
  }

  get state(): CircuitState {
    return this.#state
  }

  /** Whether the next request may go to the target. */
  get takes(): boolean {
    return this.#state === 'closed' || (this.#state === 'half_open' && !this.#trial)
  }

  /** How long to wait, after it opened, before the target is looked at again. Milliseconds. */
  get pauseMs(): number {
    return this.#pauseMs
  }

  /** A request goes to the target. */
  began(): void {
    if (this.#state === 'half_open') this.#trial = true
  }

  /**
   * The target began a response.
   * @returns whether the circuit closed by it.
   */
  answered(nowMs: number): boolean {
    this.#lastAnswerMs = nowMs
    this.#failures = 0
    if (this.#state === 'closed') return false
    this.#state = 'closed'
    this.#trial = false
    this.#pauseMs = Math.min(FIRST_PAUSE_MS, this.#rules.longestPauseMs)
    return true
  }

  /** @returns whether the circuit opened by it. */
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

  /** A request to the target is over, whatever became of it. */
  ended(): void {
    this.#trial = false
  }

  /** The target can be reached again: a request may try it. */
  halfOpen(nowMs: number): void {
    if (this.#state !== 'open') return
    this.#state = 'half_open'
    this.#halfOpenedMs = nowMs
    this.#trial = false
  }

  #open(): true {
    this.#state = 'open'
    this.#failures = 0
    return true
  }
}
