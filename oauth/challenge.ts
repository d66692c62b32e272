import { DPOP_ALGORITHMS } from './dpop/algorithms.ts'

/** Content of one `WWW-Authenticate` challenge. All values are plain text: `formatChallenge()` quotes them. */
export type Challenge = {
  /** Authentication scheme. Default: `Bearer`. */
  readonly scheme?: 'Bearer' | 'DPoP'
  /** Error code of RFC 6750 section 3.1, RFC 9449 section 7.1 or RFC 9470 section 3. Absent if the request had no credentials. */
  readonly error?:
    | 'invalid_request'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'insufficient_user_authentication'
    | 'invalid_dpop_proof'
    | 'use_dpop_nonce'
  readonly errorDescription?: string
  /** Scopes that the operation requires, space-separated. RFC 6750 section 3. */
  readonly scope?: string
  /** Accepted authentication context classes, space-separated. RFC 9470 section 3. */
  readonly acrValues?: string
  /** Maximum time since the sign-in. RFC 9470 section 3. */
  readonly maxAgeSeconds?: number
  /** URL of the protected resource metadata. RFC 9728 section 5.1. */
  readonly resourceMetadata?: string
}

/**
 * Formats one challenge of a `WWW-Authenticate` header.
 * A DPoP challenge lists the accepted signature algorithms of proofs in `algs`.
 * Source: RFC 6750 section 3, RFC 9728 section 5.1, RFC 9449 section 7.1, RFC 9470 section 3.
 */
export function formatChallenge(challenge: Challenge): string {
  const { scheme = 'Bearer' } = challenge
  const parameters: string[] = []
  if (challenge.error !== undefined) parameters.push(`error="${challenge.error}"`)
  if (challenge.errorDescription !== undefined)
    parameters.push(`error_description="${quotable(challenge.errorDescription)}"`)
  if (challenge.scope !== undefined) parameters.push(`scope="${quotable(challenge.scope)}"`)
  if (challenge.acrValues !== undefined) parameters.push(`acr_values="${quotable(challenge.acrValues)}"`)
  if (challenge.maxAgeSeconds !== undefined) parameters.push(`max_age="${challenge.maxAgeSeconds}"`)
  if (challenge.resourceMetadata !== undefined)
    parameters.push(`resource_metadata="${quotable(challenge.resourceMetadata)}"`)
  if (scheme === 'DPoP') parameters.push(`algs="${DPOP_ALGORITHMS.join(' ')}"`)
  return parameters.length === 0 ? scheme : `${scheme} ${parameters.join(', ')}`
}

/**
 * Replaces quotes, backslashes and characters outside of printable ASCII.
 * RFC 6750 section 3 limits `error_description` to %x20-21 / %x23-5B / %x5D-7E.
 */
function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?')
}
