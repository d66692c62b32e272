import { UnverifiableError } from '../unverifiable-error.ts'

export type IntrospectionErrorCode =
  /** No complete response within the deadline. */
  | 'ERR_INTROSPECTION_TIMEOUT'
  | 'ERR_INTROSPECTION_CONNECTION'
  /** The issuer rejects the client credentials of the gateway. */
  | 'ERR_INTROSPECTION_CREDENTIALS'
  /** A status other than 200, except for rejected credentials. Redirects are not followed. */
  | 'ERR_INTROSPECTION_STATUS'
  /** The response is not a JSON object that follows RFC 7662, is larger than 64 KiB, or lacks a required signature. */
  | 'ERR_INTROSPECTION_RESPONSE'
  /** The queue for introspection requests is full. */
  | 'ERR_INTROSPECTION_OVERLOAD'
  /** The circuit of the issuer is open. */
  | 'ERR_INTROSPECTION_SUSPENDED'

/** Error codes for a request without a response, and for a request that the gateway did not send. */
const NO_RESPONSE: ReadonlySet<IntrospectionErrorCode> = new Set([
  'ERR_INTROSPECTION_TIMEOUT',
  'ERR_INTROSPECTION_CONNECTION',
  'ERR_INTROSPECTION_OVERLOAD',
])

/**
 * Returns whether an introspection failed because the issuer cannot respond. A response that rejects the token or the
 * gateway is not an outage. An invalid response is also not an outage. While the circuit is open, the result depends on
 * the last failure.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof IntrospectionError)) return false
  const { code, status } = error
  if (code === 'ERR_INTROSPECTION_SUSPENDED') return isOutage(error.cause)
  return (
    NO_RESPONSE.has(code) || (status !== undefined && (status >= 500 || status === 429 || status === 408))
  )
}

/** An introspection without a usable response. The message contains no token. */
export class IntrospectionError extends UnverifiableError {
  readonly code: IntrospectionErrorCode
  /** The status of the response, if the status is the reason of the error. */
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
