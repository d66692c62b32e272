import type { AuthenticationRule } from '../load/policy-route.ts'
import type { ClaimNames, ClaimValue, NamedClaims } from './named-claims.ts'

/** The reason why a sign-in does not satisfy a rule. `acr`: wrong or unknown class. `age`: too old or unknown time. */
export type AuthenticationFault = 'acr' | 'age'

/** Maximum difference between the clocks of gateway and issuer. Seconds. */
const CLOCK_TOLERANCE_SECONDS = 60

/** Returns the names of the claims that the rule needs. */
export function authenticationClaims(rule: AuthenticationRule | undefined): ClaimNames {
  if (rule === undefined) return []
  return [...(rule.acr.length > 0 ? ['acr'] : []), ...(rule.maxAgeSeconds === undefined ? [] : ['auth_time'])]
}

/**
 * Checks the sign-in of the person against a rule. A missing claim satisfies no requirement. RFC 9470 section 6.
 * @returns undefined if the sign-in satisfies the rule.
 */
export function checkAuthentication(
  claims: NamedClaims,
  { acr, maxAgeSeconds }: AuthenticationRule,
  nowSeconds: number,
): AuthenticationFault | undefined {
  if (acr.length > 0 && !isAccepted(claims.get('acr'), acr)) return 'acr'
  return maxAgeSeconds === undefined || isRecent(claims.get('auth_time'), maxAgeSeconds, nowSeconds)
    ? undefined
    : 'age'
}

function isAccepted(value: ClaimValue | undefined, accepted: readonly string[]): boolean {
  return typeof value === 'string' && accepted.includes(value)
}

/**
 * Compares whole seconds, as authorization servers do. Otherwise, the server could still accept a sign-in that is too
 * old for the gateway. A time more than 60 s in the future is not recent: some issuers send milliseconds, and such a
 * time would never become too old.
 */
function isRecent(authTime: ClaimValue | undefined, maxAgeSeconds: number, nowSeconds: number): boolean {
  if (typeof authTime !== 'number') return false
  const ageSeconds = Math.floor(nowSeconds) - authTime
  return ageSeconds <= maxAgeSeconds && ageSeconds >= -CLOCK_TOLERANCE_SECONDS
}
