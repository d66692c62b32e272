import { createHmac } from 'node:crypto'

/** Issues and checks nonces. A client cannot know a nonce before the period of the nonce begins. RFC 9449 section 9. */
export type Nonces = {
  current(nowSeconds: number): string
  /**
   * Returns undefined when a nonce is not valid. A `previous` nonce is valid, but the client should use the current
   * nonce in the next request.
   */
  ageOf(nonce: unknown, nowSeconds: number): 'current' | 'previous' | undefined
  replace(secrets: readonly string[]): void
}

/**
 * Length of a period. The gateway issues a nonce for one period, and accepts the nonce for one more period. Seconds.
 */
const PERIOD_SECONDS = 60

/**
 * Creates nonces without storage: each nonce is an HMAC of the number of its period. Processes with the same secrets
 * create the same nonces.
 * @param secrets newest first, each at least 32 bytes. The first secret creates nonces. The gateway accepts nonces of
 * every secret.
 */
export function createNonces(...secrets: readonly string[]): Nonces {
  let [newest = '', ...older] = secrets
  let made: { readonly period: number; readonly nonce: string } | undefined

  function ofPeriod(period: number, secret: string): string {
    return createHmac('sha256', secret).update(`scopegate dpop ${period}`).digest('base64url')
  }

  function current(nowSeconds: number): string {
    const period = Math.floor(nowSeconds / PERIOD_SECONDS)
    if (made?.period !== period) made = { period, nonce: ofPeriod(period, newest) }
    return made.nonce
  }

  return {
    current,
    ageOf(nonce, nowSeconds) {
      // The comparison need not take constant time, because a nonce is public. Every client receives the nonce on
      // request.
      if (nonce === current(nowSeconds)) return 'current'
      const period = Math.floor(nowSeconds / PERIOD_SECONDS)
      if (nonce === ofPeriod(period - 1, newest)) return 'previous'
      return older.some((secret) => [period, period - 1].some((at) => nonce === ofPeriod(at, secret)))
        ? 'previous'
        : undefined
    },
    replace(changed) {
      ;[newest = '', ...older] = changed
      made = undefined
    },
  }
}
