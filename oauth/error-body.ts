/** The closed list of `error` codes that the gateway itself answers with. */
export type GatewayErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce'
  | 'access_denied'
  | 'not_found'
  | 'method_not_allowed'
  | 'rate_limited'
  | 'upstream_unavailable'
  | 'upstream_timeout'
  | 'payload_too_large'
  | 'server_error'

/** What an error body says; the first two fields are those of RFC 6749 section 5.2. */
export type ErrorBody = {
  readonly error: string
  readonly error_description: string
  readonly request_id?: string
  /** The scopes that would have been enough, on `insufficient_scope`. */
  readonly scope?: string
  /** Seconds to wait before the same request may succeed, on 429 and 503. */
  readonly retry_after?: number
}

/** Writes an error body as JSON. */
export function formatErrorBody(body: ErrorBody): string {
  return JSON.stringify(body)
}
