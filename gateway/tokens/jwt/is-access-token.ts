import type { CompactJwt } from './compact-jwt.ts'
import type { TokenTypeRule } from './jwt-rules.ts'

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
 * Returns whether a JWT was issued as an access token. `typ: at+jwt` states it. For an issuer that writes only `JWT`,
 * this function rejects claims that only other kinds of tokens have. The audience check is stronger: the audience of an
 * ID token is its client.
 * Source: RFC 9068 section 4, RFC 8725 sections 3.11 and 3.12.
 */
export function isAccessToken(jwt: CompactJwt, rule: TokenTypeRule): boolean {
  if (!TYPES[rule].includes(jwt.type)) return false
  if (jwt.type === 'at+jwt') return true
  if (OF_OTHER_TOKENS.some((name) => jwt.claims.has(name))) return false
  return [...KINDS].every(([name, kinds]) => kinds.has(jwt.claims.get(name)))
}
