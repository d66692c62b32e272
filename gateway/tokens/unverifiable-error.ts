/**
 * The status of a token cannot be determined, so the gateway can neither accept nor reject the token. The message
 * contains no token.
 */
export abstract class UnverifiableError extends Error {
  abstract readonly code: string
  /** Delay until a retry is useful. Undefined: not known. Milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.retryAfterMs = options.retryAfterMs
  }
}
