import { createHmac } from 'node:crypto'

/** Values that a client could not know before the time they are good for. RFC 9449 section 9. */
export type Nonces = {
  /** The one to use next. */
  current(nowSeconds: number): string
  /** `current`; `previous`: good, but the client should take the current one from now on; else undefined. */
  ageOf(nonce: unknown, nowSeconds: number): 'current' | 'previous' | undefined
}

/** A nonce is handed out for so long, and taken for as long again. Seconds. */
const PERIOD_SECONDS = 60

/**
 * Makes nonces that need no memory: an HMAC of the minute. Whoever has the same secret knows the same ones.
 * @param secret at least 32 bytes.
 */
export function createNonces(secret: string): Nonces {
  let made: { readonly period: number; readonly nonce: string } | undefined

  function ofPeriod(period: number): string {
    return createHmac('sha256', secret).update(`scopegate dpop ${period}`).digest('base64url')
  }

  function current(nowSeconds: number): string {
    const period = Math.floor(nowSeconds / PERIOD_SECONDS)
    if (made?.period !== period) made = { period, nonce: ofPeriod(period) }
    return made.nonce
  }

  return {
    current,
    ageOf(nonce, nowSeconds) {
      // What is compared is no secret: everybody who asks is told it.
      if (nonce === current(nowSeconds)) return 'current'
      const previous = ofPeriod(Math.floor(nowSeconds / PERIOD_SECONDS) - 1)
      return nonce === previous ? 'previous' : undefined
    },
  }
}
