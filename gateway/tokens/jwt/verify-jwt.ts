import { type ClaimNames, NO_NAMES } from '../../../policy-engine/decide/named-claims.ts'
import type { TokenFault } from '../../../policy-engine/decide/rejection.ts'
import type { GrantedScopes } from '../../../policy-engine/decide/scope-check.ts'
import type { TokenStatus } from '../cache/token-status.ts'
import { isSignedBy } from './is-signed-by.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { JwtRules, TokenTypeRule } from './jwt-rules.ts'
import type { CompactJwt } from './read-compact-jwt.ts'
import { readTokenClaims } from './read-token-claims.ts'

export type VerifyJwtOptions = {
  readonly rules: JwtRules
  readonly keys: Pick<IssuerKeys, 'lookUp'>
  readonly scopes: (scope: string) => GrantedScopes | undefined
  readonly nowSeconds: () => number
}

/**
 * Verifies a JWT of one issuer: algorithm, type, key, signature, claims, in this order. The key always comes from the
 * issuer's own key set. The caller checks the audience, because the allowed audience depends on the requested resource.
 * Source: RFC 9068 section 4, RFC 8725 section 3.
 * Cost: one signature verification. Sends no request, except for an unknown `kid`.
 * @param names claims that policies use.
 * @throws {UnverifiableError} by rejection, when the issuer's keys are unavailable.
 */
export async function verifyJwt(
  jwt: CompactJwt,
  options: VerifyJwtOptions,
  names: ClaimNames = NO_NAMES,
): Promise<TokenStatus> {
  const { rules, scopes } = options
  if (!rules.algorithms.has(jwt.algorithm)) return rejected('wrong_algorithm')
  if (!isAccessToken(jwt, rules.type)) return rejected('wrong_type')
  const key = await options.keys.lookUp(jwt.keyId, jwt.algorithm)
  if (key === undefined) return rejected('unknown_key')
  if (!(await isSignedBy(jwt, key))) return rejected('bad_signature')
  return readTokenClaims(jwt.claims, rules, { nowSeconds: options.nowSeconds(), scopes, names })
}

function rejected(
  reason: Extract<TokenFault['reason'], 'wrong_algorithm' | 'wrong_type' | 'unknown_key' | 'bad_signature'>,
): TokenStatus {
  return { active: false, fault: { reason } }
}

const TYPES: { readonly [Rule in TokenTypeRule]: readonly (string | undefined)[] } = {
  'at+jwt': ['at+jwt'],
  JWT: ['jwt', 'at+jwt'],
  any: ['jwt', 'at+jwt', undefined],
}

/**
 * Claims that only ID tokens and logout tokens have. OpenID Connect Core 1.0 sections 2 and 3.3.2.11, Back-Channel
 * Logout 1.0 section 2.4.
 */
const OF_OTHER_TOKENS = ['at_hash', 'c_hash', 's_hash', 'events']
/** Accepted values of the claims in which Keycloak (`typ`) and Cognito (`token_use`) state the kind of token. */
const KINDS: ReadonlyMap<string, ReadonlySet<unknown>> = new Map([
  ['typ', new Set<unknown>([undefined, 'Bearer', 'bearer', 'DPoP', 'JWT', 'at+jwt'])],
  ['token_use', new Set<unknown>([undefined, 'access', 'access_token'])],
])

/**
 * Returns whether a JWT was issued as an access token. An access token can state its type: `typ: at+jwt`. For an issuer
 * that writes only `JWT`, this function rejects claims that only other kinds of tokens have. The audience check gives
 * stronger protection, because the audience of an ID token is its client.
 * Source: RFC 9068 section 4, RFC 8725 sections 3.11 and 3.12.
 */
function isAccessToken(jwt: CompactJwt, rule: TokenTypeRule): boolean {
  if (!TYPES[rule].includes(jwt.type)) return false
  if (jwt.type === 'at+jwt') return true
  if (OF_OTHER_TOKENS.some((name) => jwt.claims.has(name))) return false
  return [...KINDS].every(([name, kinds]) => kinds.has(jwt.claims.get(name)))
}
