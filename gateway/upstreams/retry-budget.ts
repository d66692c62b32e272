/** Requests that earn one retry. */
const REQUESTS_PER_RETRY = 5
/** Largest number of saved retries. It is also the initial number. */
const SAVED_RETRIES = 10

/**
 * Limits retries, so that they cannot flood an upstream. Beyond the saved retries, at most 20% of the requests are
 * retried.
 */
export class RetryBudget {
  #balance = SAVED_RETRIES * REQUESTS_PER_RETRY

  earn(): void {
    if (this.#balance < SAVED_RETRIES * REQUESTS_PER_RETRY) this.#balance += 1
  }

  /**
   * Charges one retry, if the budget allows it.
   * @returns whether the request may be retried.
   */
  spend(): boolean {
    if (this.#balance < REQUESTS_PER_RETRY) return false
    this.#balance -= REQUESTS_PER_RETRY
    return true
  }
}
