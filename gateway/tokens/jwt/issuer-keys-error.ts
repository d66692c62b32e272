import { UnverifiableError } from '../unverifiable-error.ts'

export type IssuerKeysErrorCode =
  /** No complete response within the deadline. */
  | 'ERR_ISSUER_KEYS_TIMEOUT'
  | 'ERR_ISSUER_KEYS_CONNECTION'
  /** A status other than 200. Redirects are not followed. */
  | 'ERR_ISSUER_KEYS_STATUS'
  /** Not JSON, not a key set, or too large. */
  | 'ERR_ISSUER_KEYS_RESPONSE'
  /** The metadata names another issuer, or no usable URL of keys. */
  | 'ERR_ISSUER_KEYS_METADATA'
  /** The key file cannot be read, or contains no key set. */
  | 'ERR_ISSUER_KEYS_FILE'
  /** No keys were ever available, or the last keys are older than the maximum age. */
  | 'ERR_ISSUER_KEYS_UNAVAILABLE'
  /** The key is unknown, and newer keys cannot be fetched from the issuer now. */
  | 'ERR_ISSUER_KEYS_UNCONFIRMED'

export class IssuerKeysError extends UnverifiableError {
  readonly code: IssuerKeysErrorCode

  constructor(
    code: IssuerKeysErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {},
  ) {
    super(message, options)
    this.name = 'IssuerKeysError'
    this.code = code
  }
}
