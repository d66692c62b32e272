/** Kind of failure: the store cannot be reached or written, or its content cannot be read. */
export type StoreErrorCode = 'ERR_STORE_UNAVAILABLE' | 'ERR_STORE_DAMAGED'

/** The reason in metrics and readiness checks. A closed list, because it is a metric label. */
export type StoreErrorReason = 'away' | 'read_only' | 'full' | 'locked' | 'damaged' | 'failed'

/** A failure of the store at run time. Either the operation changed nothing, or its outcome is unknown. */
export class StoreError extends Error {
  readonly code: StoreErrorCode
  readonly reason: StoreErrorReason

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly reason?: StoreErrorReason } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StoreError'
    this.code = code
    this.reason = options.reason ?? (code === 'ERR_STORE_DAMAGED' ? 'damaged' : 'failed')
  }
}
