import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import { MAX_JWT_LENGTH } from '../../tokens/jwt/read-jwt-parts.ts'

/** What a request offers as proof of who calls. */
export type Credentials =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'bearer'; readonly token: string }
  /** With a proof in `DPoP` that nobody has looked at. */
  | { readonly kind: 'dpop'; readonly token: string }

/**
 * Where a token may stand: the `Authorization` header, how many of them there were, and the query, where none may be.
 */
export type CredentialsInput = {
  readonly authorization: string | undefined
  readonly authorizationCount: number
  /** What `DPoP` holds. */
  readonly proof?: string | undefined
  readonly query: string
}

const ANONYMOUS: Credentials = { kind: 'anonymous' }
/** No token is longer, whatever the configuration allows: nothing that is has to be looked through. Bytes. */
const LONGEST = 'Bearer '.length + MAX_JWT_LENGTH
const SCHEME = /^(?:bearer|dpop)(?: |$)/i
// b64token of RFC 6750 section 2.1, token68 for DPoP; RFC 9110 section 11.6.2 allows more than one space before it.
const BEARER = /^bearer +([\w\-.~+/]+=*)$/i
const DPOP = /^dpop +([\w\-.~+/]+=*)$/i

/**
 * Stage 3: finds the access token. It travels in `Authorization` and nowhere else; a credential that cannot be
 * read is refused, never taken for none.
 * Source: RFC 6750 sections 2.1 and 3.1, RFC 9449 section 7.1.
 * @returns the credentials; `credentials_ambiguous` for two, or one in the query; `proof_invalid` for DPoP without a proof;
 * `token_invalid` for anything else.
 */
export function readToken(
  input: CredentialsInput,
  rules: { readonly tokenLimitBytes: number },
): Credentials | Refusal {
  if (input.query !== '' && hasAccessToken(input.query))
    return ambiguous('Send the access token in the Authorization header, not in the address.')
  const { authorization } = input
  if (authorization === undefined) return ANONYMOUS
  if (input.authorizationCount > 1) return ambiguous('There must be one Authorization header.')
  if (authorization.length > Math.min(rules.tokenLimitBytes, LONGEST)) return invalid('malformed')
  const token = BEARER.exec(authorization)?.[1]
  if (token !== undefined) return { kind: 'bearer', token }
  const bound = DPOP.exec(authorization)?.[1]
  if (bound !== undefined)
    return input.proof === undefined
      ? { refused: 'proof_invalid', fault: 'missing' }
      : { kind: 'dpop', token: bound }
  return invalid(SCHEME.test(authorization) ? 'malformed' : 'unsupported_scheme')
}

/** In which scheme a client wants to hear what is wrong with what it sent. RFC 9449 section 7.1. */
export function schemeOf(authorization: string | undefined): 'bearer' | 'dpop' {
  return authorization !== undefined && /^dpop(?: |$)/i.test(authorization) ? 'dpop' : 'bearer'
}

/** RFC 6750 section 2.3 names the parameter; percent-encoding must not hide it. */
function hasAccessToken(query: string): boolean {
  if (!query.includes('access_token') && !query.includes('%')) return false
  return new URLSearchParams(query).has('access_token')
}

function ambiguous(detail: string): Refusal {
  return { refused: 'credentials_ambiguous', detail }
}

function invalid(reason: 'malformed' | 'unsupported_scheme'): Refusal {
  return { refused: 'token_invalid', fault: { reason } }
}
