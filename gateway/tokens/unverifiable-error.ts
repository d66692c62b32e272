/** Nobody can say whether a token is good: no reason to refuse it, and none to let it in. The message holds no token. */
export abstract class UnverifiableError extends Error {
  abstract readonly code: string
  /** When it is worth another try; undefined: not known. Milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.retryAfterMs = options.retryAfterMs
  }
}
