import { UnverifiableError } from '../unverifiable-error.ts'

/** Why the keys of an issuer cannot be had. */
export type IssuerKeysErrorCode =
  /** No complete answer within the deadline. */
  | 'ERR_ISSUER_KEYS_TIMEOUT'
  /** No connection to the issuer, or it broke. */
  | 'ERR_ISSUER_KEYS_CONNECTION'
  /** Another status than 200. Redirects are not followed. */
  | 'ERR_ISSUER_KEYS_STATUS'
  /** Not JSON, not a key set, or too large. */
  | 'ERR_ISSUER_KEYS_RESPONSE'
  /** The metadata names another issuer, or no usable address for keys. */
  | 'ERR_ISSUER_KEYS_METADATA'
  /** The file with the keys cannot be read, or holds no key set. */
  | 'ERR_ISSUER_KEYS_FILE'
  /** There never were keys, or the last ones are older than they may be. */
  | 'ERR_ISSUER_KEYS_UNAVAILABLE'
  /** A key is not among those that are known, and the issuer could not be asked for newer ones. */
  | 'ERR_ISSUER_KEYS_UNCONFIRMED'

/** An issuer whose keys are not to be had. */
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
