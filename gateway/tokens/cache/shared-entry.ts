import { parseJsonObject } from '../../../oauth/jwt/parse-json-object.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import { type NamedClaims, NO_CLAIMS, toClaimValue } from '../../../policy-engine/decide/named-claims.ts'

/** An entry of the shared cache: claims from the issuer, and the times that limit the use of the entry. */
export type SharedEntry = {
  /**
   * Time of the request to the issuer, on the wall clock of the gateway that sent the request. Milliseconds since the
   * epoch.
   */
  readonly askedAtMs: number
  /** Maximum time for which the entry may be used after `askedAtMs`. Milliseconds. */
  readonly lifetimeMs: number
  /** Time for which Redis keeps the entry after `askedAtMs`: `lifetimeMs` and `staleIfError`. Milliseconds. */
  readonly keptMs: number
  /** The members of the introspection response that the gateway reads. */
  readonly response: Readonly<Record<string, unknown>>
  /** The claims that the policies of the requesting gateway use. Policies of other gateways may use other claims. */
  readonly claims: NamedClaims
}

export function writeSharedEntry(entry: SharedEntry): string {
  // JSON has no `undefined`. A claim that the response does not contain is therefore written as `null`.
  const claims = Array.from(entry.claims, ([name, value]) => [name, value ?? null])
  return JSON.stringify({ ...entry, claims: Object.fromEntries(claims) })
}

/**
 * Parses an entry. Any Redis client may have written the text.
 * @returns undefined when the text is not a valid entry.
 */
export function readSharedEntry(text: string): SharedEntry | undefined {
  const members = parseJsonObject(text)
  if (members === undefined) return undefined
  const askedAtMs = members.get('askedAtMs')
  const lifetimeMs = members.get('lifetimeMs')
  const keptMs = members.get('keptMs')
  const response = members.get('response')
  if (typeof askedAtMs !== 'number' || typeof lifetimeMs !== 'number' || typeof keptMs !== 'number')
    return undefined
  if (!isRecord(response)) return undefined
  const claims = Object.entries(members.get('claims') ?? {}).map(
    ([name, value]) => [name, toClaimValue(value)] as const,
  )
  return {
    askedAtMs,
    lifetimeMs,
    keptMs,
    response,
    claims: claims.length === 0 ? NO_CLAIMS : new Map(claims),
  }
}

/**
 * Returns the age of an entry in milliseconds. Calculates the age from the remaining time in Redis and from the wall
 * clock, and returns the greater value.
 */
export function ageOf(
  entry: Pick<SharedEntry, 'askedAtMs' | 'keptMs'>,
  { nowMs, remainingMs }: { readonly nowMs: number; readonly remainingMs: number },
): number {
  return Math.max(nowMs - entry.askedAtMs, entry.keptMs - remainingMs, 0)
}
