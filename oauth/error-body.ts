/** All `error` codes of local replies of the gateway. */
export type GatewayErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'insufficient_user_authentication'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce'
  | 'access_denied'
  | 'not_found'
  | 'method_not_allowed'
  | 'rate_limited'
  | 'upstream_unavailable'
  | 'upstream_busy'
  | 'policy_unavailable'
  | 'upstream_credentials_unavailable'
  | 'upstream_timeout'
  | 'payload_too_large'
  | 'server_error'

/** Body of an error response. RFC 6749 section 5.2 defines the first two fields. */
export type ErrorBody = {
  readonly error: string
  readonly error_description: string
  readonly request_id?: string
  /**
   * Scopes that are sufficient for the operation. Present for `insufficient_scope` and
   * `insufficient_user_authentication`.
   */
  readonly scope?: string
  /** Accepted authentication context classes, space-separated. RFC 9470 section 3. */
  readonly acr_values?: string
  /** Maximum time since the sign-in. Seconds. RFC 9470 section 3. */
  readonly max_age?: number
  /** Seconds to wait before the same request may succeed. Present for status 429 and 503. */
  readonly retry_after?: number
}

export function formatErrorBody(body: ErrorBody): string {
  return JSON.stringify(body)
}
