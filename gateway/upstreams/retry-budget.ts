/** One retry for so many requests. */
const REQUESTS_PER_RETRY = 5
/** So many may be saved up, and are there from the start. */
const SAVED_RETRIES = 10

/** Keeps retries from becoming a second flood: beyond what was saved up, at most 20 % of the requests are sent again. */
export class RetryBudget {
  #balance = SAVED_RETRIES * REQUESTS_PER_RETRY

  /** A request came. */
  earn(): void {
    if (this.#balance < SAVED_RETRIES * REQUESTS_PER_RETRY) this.#balance += 1
  }

  /** @returns whether a request may be sent again; it is paid for then. */
  spend(): boolean {
    if (this.#balance < REQUESTS_PER_RETRY) return false
    this.#balance -= REQUESTS_PER_RETRY
    return true
  }
}
