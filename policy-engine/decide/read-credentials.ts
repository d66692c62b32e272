import { MAX_JWT_LENGTH } from '../../oauth/jwt/read-jwt-parts.ts'
import type { CanonicalRequest } from '../match/canonical-request.ts'
import type { CleanHeaders } from '../match/clean-headers.ts'
import type { Rejection } from './rejection.ts'

/** The credentials of a request, before validation. */
export type Credentials =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** The proof in the `DPoP` header is not verified yet. */
  | { readonly kind: 'dpop'; readonly token: string }

/** The parts of a request that can hold a token. A token in the query is an error. */
type CredentialsSource = Pick<CanonicalRequest, 'query'> & {
  readonly headers: Pick<CleanHeaders, 'authorization' | 'authorizationCount' | 'proof'>
}

/** The rejection of a request with several `Authorization` headers. */
export const REPEATED_AUTHORIZATION = ambiguous('Send exactly one Authorization header.')

const ANONYMOUS: Credentials = { kind: 'anonymous' }
/**
 * Maximum length of an `Authorization` value in every configuration. The regular expressions in this file never scan a
 * longer value. Bytes.
 */
const LONGEST = 'Bearer '.length + MAX_JWT_LENGTH
const SCHEME = /^(?:bearer|dpop)(?: |$)/i
// Bearer uses b64token (RFC 6750 section 2.1), and DPoP uses token68. RFC 9110 section 11.6.2 allows several spaces
// before the token.
const BEARER = /^bearer +([\w\-.~+/]+=*)$/i
const DPOP = /^dpop +([\w\-.~+/]+=*)$/i

/**
 * Reads the access token from the `Authorization` header, the only allowed place. The gateway rejects an unreadable
 * credential and never treats the request as anonymous.
 * Source: RFC 6750 sections 2.1 and 3.1, RFC 9449 section 7.1.
 * @returns the credentials, or a rejection. `credentials_ambiguous`: two tokens, or a token in the query.
 * `proof_invalid`: DPoP without a proof. `token_invalid`: any other unreadable value.
 */
export function readCredentials(
  { query, headers }: CredentialsSource,
  limits: { readonly tokenBytes: number },
): Credentials | Rejection {
  if (query !== '' && hasAccessToken(query))
    return ambiguous('Send the access token in the Authorization header, not in the URL.')
  const { authorization } = headers
  if (authorization === undefined) return ANONYMOUS
  if (headers.authorizationCount > 1) return REPEATED_AUTHORIZATION
  if (authorization.length > Math.min(limits.tokenBytes, LONGEST)) return invalid('malformed')
  const token = BEARER.exec(authorization)?.[1]
  if (token !== undefined) return { kind: 'bearer', token }
  const bound = DPOP.exec(authorization)?.[1]
  if (bound !== undefined)
    return headers.proof === undefined
      ? { rejected: 'proof_invalid', fault: 'missing' }
      : { kind: 'dpop', token: bound }
  return invalid(SCHEME.test(authorization) ? 'malformed' : 'unsupported_scheme')
}

/** Returns the scheme for the challenge to unreadable credentials. RFC 9449 section 7.1. */
export function schemeOf(authorization: string | undefined): 'bearer' | 'dpop' {
  return authorization !== undefined && /^dpop(?: |$)/i.test(authorization) ? 'dpop' : 'bearer'
}

/** Returns whether the query contains the parameter of RFC 6750 section 2.3. Also finds a percent-encoded name. */
function hasAccessToken(query: string): boolean {
  if (!query.includes('access_token') && !query.includes('%')) return false
  return new URLSearchParams(query).has('access_token')
}

function ambiguous(detail: string): Rejection {
  return { rejected: 'credentials_ambiguous', detail }
}

function invalid(reason: 'malformed' | 'unsupported_scheme'): Rejection {
  return { rejected: 'token_invalid', fault: { reason } }
}
