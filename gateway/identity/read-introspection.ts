import { IntrospectionError } from './introspection-error.ts'
import type { GrantedScopes } from './scope-sets.ts'
import type { Verdict } from './verdict.ts'

export type ReadIntrospectionOptions = {
  readonly issuer: string
  readonly nowSeconds: number
  readonly scopes: (scope: string) => GrantedScopes | undefined
}

/** Clocks of issuer and gateway may differ by this much before `nbf` is believed over `active`. Seconds. */
const NOT_BEFORE_SKEW_SECONDS = 60

// What a header field value may hold: visible ASCII, spaces inside. RFC 9110 section 5.5.
const HEADER_SAFE = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/

const INACTIVE: Verdict = { active: false, fault: { reason: 'inactive' } }

/**
 * Reads an introspection response. Only the JSON value `true` is active; what is neither `true` nor `false` is
 * no answer at all.
 * Source: RFC 7662 section 2.2; `cnf` RFC 7800, RFC 9449 section 6, RFC 8705 section 3.
 * @throws {IntrospectionError} ERR_INTROSPECTION_RESPONSE.
 */
export function readIntrospection(response: unknown, options: ReadIntrospectionOptions): Verdict {
  if (typeof response !== 'object' || response === null || Array.isArray(response))
    throw unusable('the response is not a JSON object')
  const claims = new Map<string, unknown>(Object.entries(response))
  const active = claims.get('active')
  if (active === false) return INACTIVE
  if (active !== true) throw unusable('"active" is neither true nor false')

  const expiresAtSeconds = claims.get('exp')
  if (typeof expiresAtSeconds !== 'number' || !Number.isSafeInteger(expiresAtSeconds))
    return { active: false, fault: { reason: 'claims_missing' } }
  const notBefore = claims.get('nbf')
  if (notBefore !== undefined && !(Number(notBefore) <= options.nowSeconds + NOT_BEFORE_SKEW_SECONDS))
    return INACTIVE
  if (expiresAtSeconds <= options.nowSeconds) {
    const secondsAgo = Math.floor(options.nowSeconds - expiresAtSeconds)
    return { active: false, fault: { reason: 'expired', secondsAgo } }
  }
  if (claims.get('iss') !== options.issuer) return { active: false, fault: { reason: 'wrong_issuer' } }
  const tokenType = claims.get('token_type')
  if (claims.has('cnf') || (tokenType !== undefined && String(tokenType).toLowerCase() !== 'bearer'))
    return { active: false, fault: { reason: 'sender_constrained' } }

  const subject = headerSafe(claims, 'sub')
  const clientId = headerSafe(claims, 'client_id')
  const scope = claims.get('scope') ?? ''
  const granted = typeof scope === 'string' ? options.scopes(scope) : undefined
  if (granted === undefined) throw unusable('"scope" does not follow RFC 6749 section 3.3')
  const grant = claims.get('grant')

  return {
    active: true,
    caller: Object.freeze({
      subject,
      clientId,
      scopes: granted.set,
      audience: readAudience(claims.get('aud')),
      issuer: options.issuer,
      expiresAtSeconds,
      grant: typeof grant === 'string' ? grant : undefined,
      identityHeaders: identityHeaders(subject, clientId, granted.text),
    }),
  }
}

function headerSafe(claims: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const value = claims.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' || !HEADER_SAFE.test(value))
    throw unusable(`"${name}" cannot be told to an upstream`)
  return value
}

/** A string or an array of strings; anything else names no resource. One trailing slash does not matter. */
function readAudience(audience: unknown): readonly string[] {
  const members = Array.isArray(audience) ? audience : [audience]
  return members
    .filter((member) => typeof member === 'string')
    .map((member) => (member.endsWith('/') ? member.slice(0, -1) : member))
}

function identityHeaders(
  subject: string | undefined,
  clientId: string | undefined,
  scope: string,
): readonly string[] {
  const headers: string[] = []
  if (subject !== undefined) headers.push('x-auth-subject', subject)
  if (clientId !== undefined) headers.push('x-auth-client-id', clientId)
  headers.push('x-auth-scope', scope)
  return headers
}

function unusable(why: string): IntrospectionError {
  return new IntrospectionError(
    'ERR_INTROSPECTION_RESPONSE',
    `The issuer's introspection response is of no use: ${why}.`,
  )
}
