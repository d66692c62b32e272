import { UnverifiableError } from '../unverifiable-error.ts'

/** Why the status of a token is not known. */
export type IntrospectionErrorCode =
  /** No complete answer within the deadline. */
  | 'ERR_INTROSPECTION_TIMEOUT'
  /** No connection to the issuer, or it broke. */
  | 'ERR_INTROSPECTION_CONNECTION'
  /** The issuer rejects the gateway's own client credentials. */
  | 'ERR_INTROSPECTION_CREDENTIALS'
  /** Another status than 200. Redirects are not followed. */
  | 'ERR_INTROSPECTION_STATUS'
  /** Not a JSON object that follows RFC 7662, not signed where it has to be, or more than 64 KiB. */
  | 'ERR_INTROSPECTION_RESPONSE'
  /** Too many tokens are being asked about already. */
  | 'ERR_INTROSPECTION_OVERLOAD'
  /** The circuit of the issuer is open. */
  | 'ERR_INTROSPECTION_SUSPENDED'

/** An issuer that gave no answer. The message holds no token. */
export class IntrospectionError extends UnverifiableError {
  readonly code: IntrospectionErrorCode
  /** The status of the response, when it is the reason. */
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
