import { type ClaimNames, NO_NAMES } from '../../../policy-engine/decide/named-claims.ts'
import type { TokenFault } from '../../../policy-engine/decide/refusal.ts'
import type { GrantedScopes } from '../../../policy-engine/decide/scope-check.ts'
import type { TokenStatus } from '../cache/token-status.ts'
import type { CompactJwt } from './compact-jwt.ts'
import { isAccessToken } from './is-access-token.ts'
import { isSignedBy } from './is-signed-by.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import type { JwtRules } from './jwt-rules.ts'
import { readTokenClaims } from './read-token-claims.ts'

export type VerifyJwtOptions = {
  readonly rules: JwtRules
  readonly keys: Pick<IssuerKeys, 'lookUp'>
  readonly scopes: (scope: string) => GrantedScopes | undefined
  readonly nowSeconds: () => number
}

/**
 * Verifies a JWT of one issuer: algorithm, type, key, signature, claims, in this order. The key always comes from the
 * issuer's own key set. The caller checks the audience, because it depends on the requested resource.
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
  if (!rules.algorithms.has(jwt.algorithm)) return refused('wrong_algorithm')
  if (!isAccessToken(jwt, rules.type)) return refused('wrong_type')
  const key = await options.keys.lookUp(jwt.keyId, jwt.algorithm)
  if (key === undefined) return refused('unknown_key')
  if (!(await isSignedBy(jwt, key))) return refused('bad_signature')
  return readTokenClaims(jwt.claims, rules, { nowSeconds: options.nowSeconds(), scopes, names })
}

function refused(
  reason: Extract<TokenFault['reason'], 'wrong_algorithm' | 'wrong_type' | 'unknown_key' | 'bad_signature'>,
): TokenStatus {
  return { active: false, fault: { reason } }
}
