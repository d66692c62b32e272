import { readConfirmation } from '../../../policy-engine/decide/confirmation.ts'
import { type ClaimNames, NO_NAMES, readNamedClaims } from '../../../policy-engine/decide/named-claims.ts'
import type { GrantedScopes } from '../../../policy-engine/decide/scope-check.ts'
import type { TokenStatus } from '../cache/token-status.ts'
import { isHeaderSafe, makeCaller } from '../make-caller.ts'
import type { JwtRules } from './jwt-rules.ts'

type Claims = ReadonlyMap<string, unknown>

/** The end of the year 9999. A greater number can only be a time in milliseconds. Seconds since the epoch. */
const LAST_SECOND = 253_402_300_799

const MISSING: TokenStatus = { active: false, fault: { reason: 'claims_missing' } }
const INVALID: TokenStatus = { active: false, fault: { reason: 'claims_invalid' } }

/**
 * Converts the claims of a JWT to a token status. Call this function only after the signature is verified. A claim with
 * an invalid value is never treated as missing.
 * Source: RFC 9068 sections 2.2 and 4, RFC 7519 section 4.1, RFC 8725 section 3.
 */
export function readTokenClaims(
  claims: Claims,
  rules: JwtRules,
  context: {
    readonly nowSeconds: number
    readonly scopes: (scope: string) => GrantedScopes | undefined
    /** Claims that policies use. Default: none. */
    readonly names?: ClaimNames
  },
): TokenStatus {
  if (claims.get('iss') !== rules.issuer) return { active: false, fault: { reason: 'wrong_issuer' } }
  if (!claims.has('exp')) return MISSING
  const expires = date(claims, 'exp')
  const notBefore = date(claims, 'nbf')
  const issuedAt = date(claims, 'iat')
  if (expires === 'invalid' || expires === undefined || notBefore === 'invalid' || issuedAt === 'invalid')
    return INVALID
  const tolerance = rules.clockToleranceSeconds
  if (expires + tolerance <= context.nowSeconds)
    return {
      active: false,
      fault: { reason: 'expired', secondsAgo: Math.floor(context.nowSeconds - expires) },
    }
  const confirmation = readConfirmation(claims.get('cnf'))
  if (confirmation === 'unknown') return { active: false, fault: { reason: 'sender_constrained' } }

  const subject = claims.get(rules.claims.subject)
  const clientId = firstOf(claims, rules.claims.client)
  if (!isSafeOrMissing(subject) || !isSafeOrMissing(clientId)) return INVALID
  const granted = readScope(firstOf(claims, rules.claims.scope), context.scopes)
  if (granted === undefined) return INVALID
  const grant = claims.get('grant')

  return {
    active: true,
    caller: makeCaller({
      subject,
      clientId,
      granted,
      audience: audienceOf(claims.get('aud'), rules),
      issuer: rules.issuer,
      // Every request checks these times again. Both times therefore include the tolerance.
      expiresAtSeconds: expires + tolerance,
      notBeforeSeconds: Math.max(notBefore ?? 0, issuedAt ?? 0) - tolerance,
      issuedAtSeconds: issuedAt,
      tokenId: claims.get('jti'),
      grant: typeof grant === 'string' ? grant : undefined,
      confirmation,
      claims: readNamedClaims(claims, context.names ?? NO_NAMES),
    }),
  }
}

/**
 * Reads a time in whole seconds. RFC 7519 section 2 permits fractions, but this function treats fractions as invalid.
 */
function date(claims: Claims, name: string): number | 'invalid' | undefined {
  if (!claims.has(name)) return undefined
  const value = claims.get(name)
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LAST_SECOND
    ? Number(value)
    : 'invalid'
}

function firstOf(claims: Claims, names: readonly string[]): unknown {
  const name = names.find((one) => claims.has(one))
  return name === undefined ? undefined : claims.get(name)
}

function isSafeOrMissing(value: unknown): value is string | undefined {
  return value === undefined || isHeaderSafe(value)
}

/** Reads a scope: a string with spaces (RFC 9068 section 2.2.3), or an array with one scope per item (Okta). */
function readScope(
  value: unknown,
  scopes: (scope: string) => GrantedScopes | undefined,
): GrantedScopes | undefined {
  if (value === undefined) return scopes('')
  if (typeof value === 'string') return scopes(value)
  if (!Array.isArray(value)) return undefined
  const isOne = (member: unknown) => typeof member === 'string' && member !== '' && !member.includes(' ')
  return value.every(isOne) ? scopes(value.join(' ')) : undefined
}

/** Adds the resource to the audience when `aud` contains the issuer's own name for this API. */
function audienceOf(audience: unknown, { audience: names, resource }: JwtRules): unknown {
  const members: readonly unknown[] = Array.isArray(audience) ? audience : [audience]
  return members.some((member) => typeof member === 'string' && names.includes(member))
    ? [...members, resource]
    : audience
}
