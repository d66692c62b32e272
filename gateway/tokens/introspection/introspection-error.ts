import { UnverifiableError } from '../unverifiable-error.ts'

export type IntrospectionErrorCode =
  /** No complete response within the deadline. */
  | 'ERR_INTROSPECTION_TIMEOUT'
  | 'ERR_INTROSPECTION_CONNECTION'
  /** The issuer rejects the client credentials of the gateway. */
  | 'ERR_INTROSPECTION_CREDENTIALS'
  /** A status other than 200. Redirects are not followed. */
  | 'ERR_INTROSPECTION_STATUS'
  /**
   * Not a JSON object that follows RFC 7662, or larger than 64 KiB. Or not signed, although a signature is required.
   */
  | 'ERR_INTROSPECTION_RESPONSE'
  /** The queue for introspection requests is full. */
  | 'ERR_INTROSPECTION_OVERLOAD'
  /** The circuit of the issuer is open. */
  | 'ERR_INTROSPECTION_SUSPENDED'

/** An introspection without a usable response. The message contains no token. */
export class IntrospectionError extends UnverifiableError {
  readonly code: IntrospectionErrorCode
  /** The status of the response, if it is the reason. */
  readonly status: number | undefined
  /** The error code in a response with status 400. RFC 6749 section 5.2, RFC 7009 section 2.2.1. */
  readonly oauthError: string | undefined

  constructor(
    code: IntrospectionErrorCode,
    message: string,
    options: {
      readonly cause?: unknown
      readonly retryAfterMs?: number
      readonly status?: number
      readonly oauthError?: string | undefined
    } = {},
  ) {
    super(message, options)
    this.name = 'IntrospectionError'
    this.code = code
    this.status = options.status
    this.oauthError = options.oauthError
  }
}
