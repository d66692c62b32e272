import type { ProofFault } from './proof-fault.ts'

/** Why a token opens nothing. The first line of each reason is what logs and metrics say. */
export type TokenFault =
  | { readonly reason: 'malformed' }
  | { readonly reason: 'unsupported_scheme' }
  /** Unknown, revoked, or expired at the issuer: RFC 7662 section 2.2 does not tell which. */
  | { readonly reason: 'inactive' }
  | { readonly reason: 'expired'; readonly secondsAgo: number }
  | { readonly reason: 'wrong_issuer' }
  /** A JWT that is signed in a way this issuer is not allowed to use. RFC 8725 section 3.1. */
  | { readonly reason: 'wrong_algorithm' }
  /** A JWT that is no access token: an ID token, a logout token. RFC 9068 section 4. */
  | { readonly reason: 'wrong_type' }
  /** The issuer has no such key for this algorithm. */
  | { readonly reason: 'unknown_key' }
  | { readonly reason: 'bad_signature' }
  | { readonly reason: 'not_yet_valid' }
  /** `expected` is the resource of the path, `actual` the audience of the token, which is not for the client. */
  | { readonly reason: 'wrong_audience'; readonly expected: string; readonly actual: readonly string[] }
  /** Bound to something that cannot be checked here. RFC 7800 section 3.1. */
  | { readonly reason: 'sender_constrained' }
  /** Bound to a key, and sent as a Bearer token. RFC 9449 section 7.2. */
  | { readonly reason: 'proof_missing' }
  /** Sent with a DPoP proof, and bound to no key. RFC 9449 section 7.1. */
  | { readonly reason: 'not_bound' }
  /** The proof is of another key. */
  | { readonly reason: 'wrong_key' }
  /** Bound to a certificate, and sent without one. RFC 8705 section 3. */
  | { readonly reason: 'certificate_missing' }
  | { readonly reason: 'wrong_certificate' }
  /** Active, but without a claim that a resource needs, such as `exp`. */
  | { readonly reason: 'claims_missing' }
  /** A claim that is there, and makes no sense. */
  | { readonly reason: 'claims_invalid' }

/**
 * Why the gateway does not serve a request: a value, never an exception.
 * One function (pipeline/refuse.ts) turns it into status, challenge and body.
 */
export type Refusal =
  /** The request is not one that can be forwarded unambiguously. `detail` goes to the client: no input in it. */
  | { readonly refused: 'request_malformed'; readonly detail: string }
  | { readonly refused: 'target_too_long'; readonly limitBytes: number }
  | { readonly refused: 'headers_too_large'; readonly limitBytes: number }
  | { readonly refused: 'request_timed_out' }
  | { readonly refused: 'route_unknown' }
  | { readonly refused: 'method_not_allowed'; readonly allow: readonly string[] }
  /** Credentials at the wrong place or more than one. RFC 6750 section 3.1 `invalid_request`. */
  | { readonly refused: 'credentials_ambiguous'; readonly detail: string }
  /** No credentials, and the route wants some; `needed` is advertised by `challenge` and not by `deny`. */
  | {
      readonly refused: 'token_missing'
      readonly anonymous: 'challenge' | 'deny'
      readonly needed: readonly string[]
    }
  | { readonly refused: 'token_invalid'; readonly fault: TokenFault }
  /** A DPoP proof that proves nothing. RFC 9449 section 7.1 `invalid_dpop_proof`. */
  | { readonly refused: 'proof_invalid'; readonly fault: ProofFault }
  /** A DPoP proof without a nonce that is good now. RFC 9449 section 9 `use_dpop_nonce`. */
  | { readonly refused: 'proof_nonce'; readonly nonce: string }
  /** The issuer gave no answer: nobody can say whether the token is good. */
  | { readonly refused: 'token_unverifiable'; readonly retryAfterSeconds: number }
  /** `needed` is all that the operation asks for, `missing` what the token lacks of it, in policy order. */
  | {
      readonly refused: 'scope_missing'
      readonly needed: readonly string[]
      readonly missing: readonly string[]
    }
  /** A condition of the policy on the token's claims does not hold; `condition` says which, for the log alone. */
  | { readonly refused: 'condition_failed'; readonly condition: string }
  /** More requests than the route allows for this caller. */
  | { readonly refused: 'rate_limited'; readonly retryAfterSeconds: number }
  | { readonly refused: 'overloaded'; readonly retryAfterSeconds: number }
  /** This caller has as many WebSocket sessions as one may have. */
  | {
      readonly refused: 'sessions_exhausted'
      readonly limit: number
      readonly retryAfterSeconds: number
    }
  | { readonly refused: 'body_too_large'; readonly limitBytes: number }
  /** The client stopped sending its body. */
  | { readonly refused: 'body_timed_out' }
  /** No connection to the upstream. */
  | { readonly refused: 'upstream_unreachable' }
  /** The upstream broke the connection or answered with something that is not HTTP. */
  | { readonly refused: 'upstream_broken' }
  | { readonly refused: 'upstream_timed_out' }
  /** It failed too often of late to be asked now. */
  | { readonly refused: 'upstream_ejected'; readonly retryAfterSeconds: number }
  | { readonly refused: 'internal_error' }
