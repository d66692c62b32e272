/** Why the store failed: it could not be reached or written, or its content cannot be read. */
export type StoreErrorCode = 'ERR_STORE_UNAVAILABLE' | 'ERR_STORE_DAMAGED'

/** The cause, as metrics and readiness show it. A metric label, so a closed list. */
export type StoreErrorReason = 'away' | 'read_only' | 'full' | 'locked' | 'damaged' | 'failed'

/** The store failed while the process runs. Nothing was changed, or it is not known whether it was. */
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
