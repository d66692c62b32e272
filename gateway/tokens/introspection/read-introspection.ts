import { isRecord } from '../../../platform/diagnostics/record.ts'
import { readConfirmation } from '../../../policy-engine/decide/confirmation.ts'
import { type NamedClaims, NO_CLAIMS } from '../../../policy-engine/decide/named-claims.ts'
import type { GrantedScopes } from '../../../policy-engine/decide/scope-check.ts'
import type { TokenStatus } from '../cache/token-status.ts'
import { isHeaderSafe, makeCaller } from '../make-caller.ts'
import { IntrospectionError } from './introspection-error.ts'

/**
 * Expected values of an introspection response. `scopes` parses a `scope` value, and returns undefined when the value
 * is not valid.
 */
export type ReadIntrospectionOptions = {
  readonly issuer: string
  readonly nowSeconds: number
  readonly scopes: (scope: string) => GrantedScopes | undefined
  /** The claims of the response that policies use. Default: none. */
  readonly claims?: NamedClaims
}

/**
 * Maximum clock skew between issuer and gateway. If `nbf` is further in the future, the token is not active, even with
 * `active: true`. Seconds.
 */
const NOT_BEFORE_SKEW_SECONDS = 60

const INACTIVE: TokenStatus = { active: false, fault: { reason: 'inactive' } }

/**
 * Validates an introspection response and returns the token status. Only the JSON value `true` means active. The
 * response is not valid when `active` is neither `true` nor `false`.
 * Source: RFC 7662 section 2.2; `cnf` RFC 7800, RFC 9449 section 6, RFC 8705 section 3.
 * @throws {IntrospectionError} ERR_INTROSPECTION_RESPONSE.
 */
export function readIntrospection(response: unknown, options: ReadIntrospectionOptions): TokenStatus {
  if (!isRecord(response)) throw unusable('the response is not a JSON object')
  const claims = new Map(Object.entries(response))
  const active = claims.get('active')
  if (active === false) return INACTIVE
  if (active !== true) throw unusable('"active" is neither true nor false')

  const expiresAtSeconds = claims.get('exp')
  if (typeof expiresAtSeconds !== 'number' || !Number.isSafeInteger(expiresAtSeconds))
    return { active: false, fault: { reason: 'claims_missing' } }
  const notBefore = claims.get('nbf')
  const latest = options.nowSeconds + NOT_BEFORE_SKEW_SECONDS
  if (notBefore !== undefined && !(typeof notBefore === 'number' && notBefore <= latest)) return INACTIVE
  if (expiresAtSeconds <= options.nowSeconds) {
    const secondsAgo = Math.floor(options.nowSeconds - expiresAtSeconds)
    return { active: false, fault: { reason: 'expired', secondsAgo } }
  }
  if (claims.get('iss') !== options.issuer) return { active: false, fault: { reason: 'wrong_issuer' } }
  const tokenType = claims.get('token_type')
  const confirmation = readConfirmation(claims.get('cnf'))
  const isBearer =
    tokenType === undefined || (typeof tokenType === 'string' && tokenType.toLowerCase() === 'bearer')
  // Rejects a binding that the gateway cannot check. Without a binding, rejects every token type other than Bearer.
  if (confirmation === 'unknown' || (confirmation === undefined && !isBearer))
    return { active: false, fault: { reason: 'sender_constrained' } }

  const subject = headerSafe(claims, 'sub')
  const clientId = headerSafe(claims, 'client_id')
  const scope = claims.get('scope') ?? ''
  const granted = typeof scope === 'string' ? options.scopes(scope) : undefined
  if (granted === undefined) throw unusable('"scope" does not follow RFC 6749 section 3.3')
  const grant = claims.get('grant')
  const issuedAt = claims.get('iat')

  return {
    active: true,
    caller: makeCaller({
      subject,
      clientId,
      granted,
      audience: claims.get('aud'),
      issuer: options.issuer,
      expiresAtSeconds,
      notBeforeSeconds: typeof notBefore === 'number' ? notBefore - NOT_BEFORE_SKEW_SECONDS : undefined,
      issuedAtSeconds: typeof issuedAt === 'number' ? issuedAt : undefined,
      tokenId: claims.get('jti'),
      grant: typeof grant === 'string' ? grant : undefined,
      confirmation,
      claims: options.claims ?? NO_CLAIMS,
    }),
  }
}

/** Every member that `readIntrospection` reads. */
const READ_MEMBERS = [
  'active',
  'aud',
  'client_id',
  'cnf',
  'exp',
  'grant',
  'iat',
  'iss',
  'jti',
  'nbf',
  'scope',
  'sub',
  'token_type',
]

/**
 * Returns the members of a response that the gateway reads. Drops all other data, because other data can be personal.
 */
export function pickReadMembers(response: unknown): Readonly<Record<string, unknown>> {
  const claims = new Map<string, unknown>(Object.entries(response ?? {}))
  return Object.fromEntries(
    READ_MEMBERS.flatMap((name) => (claims.has(name) ? [[name, claims.get(name)]] : [])),
  )
}

function headerSafe(claims: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = claims.get(name)
  if (value === undefined) return undefined
  if (!isHeaderSafe(value)) throw unusable(`"${name}" is not a valid header value`)
  return value
}

function unusable(why: string): IntrospectionError {
  return new IntrospectionError(
    'ERR_INTROSPECTION_RESPONSE',
    `The issuer's introspection response is not usable: ${why}.`,
  )
}
