import type { ProofFault } from '../../oauth/dpop/check-proof.ts'
import type { AuthenticationRule, Condition } from '../load/policy-route.ts'
import type { AuthenticationFault } from './check-authentication.ts'

export type TokenFault =
  | { readonly reason: 'malformed' }
  | { readonly reason: 'unsupported_scheme' }
  /** The token is unknown to the issuer, revoked or expired. RFC 7662 section 2.2 does not distinguish these cases. */
  | { readonly reason: 'inactive' }
  | { readonly reason: 'expired'; readonly secondsAgo: number }
  | { readonly reason: 'wrong_issuer' }
  /** The signature algorithm of the JWT is not allowed for this issuer. RFC 8725 section 3.1. */
  | { readonly reason: 'wrong_algorithm' }
  /** The JWT is another kind of token, for example an ID token or a logout token. RFC 9068 section 4. */
  | { readonly reason: 'wrong_type' }
  /** The issuer has no key with the key ID and the algorithm of the JWT. */
  | { readonly reason: 'unknown_key' }
  | { readonly reason: 'bad_signature' }
  | { readonly reason: 'not_yet_valid' }
  /** `expected`: resource of the path. `actual`: audience of the token. The client does not receive `actual`. */
  | { readonly reason: 'wrong_audience'; readonly expected: string; readonly actual: readonly string[] }
  /** The token is bound by a method that the gateway cannot verify. RFC 7800 section 3.1. */
  | { readonly reason: 'sender_constrained' }
  /** The token is bound to a DPoP key, but the client sent it as a Bearer token. RFC 9449 section 7.2. */
  | { readonly reason: 'proof_missing' }
  /** The token was sent with a DPoP proof, but is not bound to a DPoP key. RFC 9449 section 7.1. */
  | { readonly reason: 'not_bound' }
  | { readonly reason: 'wrong_key' }
  /** The token is bound to a client certificate, but was sent without a client certificate. RFC 8705 section 3. */
  | { readonly reason: 'certificate_missing' }
  | { readonly reason: 'wrong_certificate' }
  /** The token is active, but does not have a claim that the resource requires, such as `exp`. */
  | { readonly reason: 'claims_missing' }
  | { readonly reason: 'claims_invalid' }

/**
 * Reason why the gateway rejects a request. A rejection is a value, never an exception.
 * `gateway/pipeline/error-response.ts` converts a rejection to status, challenge and body.
 */
export type Rejection =
  /**
   * The gateway cannot forward the request unambiguously. The client receives `detail`, so `detail` must not contain
   * input.
   */
  | { readonly rejected: 'request_malformed'; readonly detail: string }
  | { readonly rejected: 'target_too_long'; readonly limitBytes: number }
  | { readonly rejected: 'headers_too_large'; readonly limitBytes: number }
  | { readonly rejected: 'request_timed_out' }
  | { readonly rejected: 'route_unknown' }
  /** Routes of the path require headers of MCP that the request does not have. Older revisions have no such headers. */
  | { readonly rejected: 'mcp_headers_missing' }
  /**
   * The body is not an MCP message that all servers read in the same way. The client receives `detail`, so `detail` must
   * not contain input.
   */
  | { readonly rejected: 'mcp_body_invalid'; readonly detail: string }
  /** The headers `Mcp-Method` and `Mcp-Name` do not agree with the body. */
  | { readonly rejected: 'mcp_headers_differ' }
  /** The path belongs to a policy source without valid policies. */
  | { readonly rejected: 'policy_unavailable' }
  | { readonly rejected: 'method_not_allowed'; readonly allow: readonly string[] }
  /** Credentials in the wrong place, or more than one credential. RFC 6750 section 3.1 `invalid_request`. */
  | { readonly rejected: 'credentials_ambiguous'; readonly detail: string }
  /** The route requires credentials, but the request has none. `challenge` advertises `needed`, `deny` does not. */
  | {
      readonly rejected: 'token_missing'
      readonly anonymous: 'challenge' | 'deny'
      readonly needed: readonly string[]
    }
  | { readonly rejected: 'token_invalid'; readonly fault: TokenFault }
  /** The DPoP proof is invalid. RFC 9449 section 7.1 `invalid_dpop_proof`. */
  | { readonly rejected: 'proof_invalid'; readonly fault: ProofFault }
  /** The DPoP proof does not contain a valid nonce. RFC 9449 section 9 `use_dpop_nonce`. */
  | { readonly rejected: 'proof_nonce'; readonly nonce: string }
  /** The gateway cannot determine the status of the token now, for example because the issuer does not respond. */
  | { readonly rejected: 'token_unverifiable'; readonly retryAfterSeconds: number }
  /**
   * The person must sign in again. RFC 9470 section 3 `insufficient_user_authentication`. `needed`: all required
   * scopes, so that one new authorization is sufficient.
   */
  | {
      readonly rejected: 'authentication_insufficient'
      readonly fault: AuthenticationFault
      readonly rule: AuthenticationRule
      readonly needed: readonly string[]
    }
  /** `needed`: all required scopes. `missing`: the required scopes that the token lacks. Both are in policy order. */
  | {
      readonly rejected: 'scope_missing'
      readonly needed: readonly string[]
      readonly missing: readonly string[]
    }
  /**
   * A condition on the claims of the token does not hold. `condition` is the text of the condition and `source` its
   * location, for the log only.
   */
  | {
      readonly rejected: 'condition_failed'
      readonly condition: string
      readonly source: Condition['source']
    }
  | {
      readonly rejected: 'rate_limited'
      readonly retryAfterSeconds: number
      /** Name of the limit. */
      readonly limit: string
    }
  | { readonly rejected: 'overloaded'; readonly retryAfterSeconds: number }
  /** The caller has reached the maximum number of WebSocket sessions. */
  | {
      readonly rejected: 'sessions_exhausted'
      readonly limit: number
      readonly retryAfterSeconds: number
    }
  | { readonly rejected: 'body_too_large'; readonly limitBytes: number }
  | { readonly rejected: 'body_timed_out' }
  | { readonly rejected: 'upstream_unreachable' }
  /** The upstream closed the connection too early, or sent an invalid response or WebSocket handshake. */
  | { readonly rejected: 'upstream_broken' }
  | { readonly rejected: 'upstream_timed_out' }
  /** The gateway cannot filter the tool list of the upstream, because the list is too large or has an unknown form. */
  | { readonly rejected: 'mcp_tools_unreadable' }
  /** The upstream failed too often recently, so the gateway temporarily sends no requests to this upstream. */
  | { readonly rejected: 'upstream_ejected'; readonly retryAfterSeconds: number }
  /** All connections to the upstream are busy, and the request got no place in the queue or waited too long. */
  | { readonly rejected: 'upstream_busy'; readonly retryAfterSeconds: number }
  /** The gateway has no token for the upstream, because the token endpoint fails. */
  | { readonly rejected: 'upstream_credentials_unavailable'; readonly retryAfterSeconds: number }
  /** The upstream responded with 401 to the credentials of the gateway. */
  | { readonly rejected: 'upstream_credentials_rejected' }
  | { readonly rejected: 'internal_error' }
