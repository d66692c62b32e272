type Single = string | number | boolean

/** Comparable value of a claim: one value, or the comparable members of a list. */
export type ClaimValue = Single | readonly Single[]

/**
 * Values of the claims that policies or `identity.claims` name, by this name. Other claims are absent. If a name has
 * the value undefined, the token does not have the claim. If a name is absent, the claim was not read.
 */
export type NamedClaims = ReadonlyMap<string, ClaimValue | undefined>

/**
 * Sorted names of the claims in all policies and in `identity.claims`. All requests under the same policies share one
 * array object.
 */
export type ClaimNames = readonly string[]

export type ClaimSelection = {
  /** Claims that the access rule of the route needs. */
  readonly needed: ClaimNames
  /** The gateway reads these claims when it validates the token. Includes `needed`. */
  readonly names: ClaimNames
}

export const NO_NAMES: ClaimNames = Object.freeze([])
export const NO_CLAIMS: NamedClaims = new Map()

export const EMPTY_CLAIM_SELECTION: ClaimSelection = Object.freeze({ needed: NO_NAMES, names: NO_NAMES })

/** Maximum length of a comparable text in characters. A claim with a longer text exists but equals no value. */
const MAX_TEXT = 1_024
/** Maximum number of list members. The gateway ignores further members. */
const MAX_MEMBERS = 256
/** Maximum total length of the texts in a list, in characters. The gateway ignores further members. */
const MAX_LIST_TEXT = 8_192
/**
 * Largest comparable number. A larger number exists but equals no value, because the parser may have rounded the
 * number.
 */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER
/** Value of a claim that exists but is not comparable. This value equals no other value. */
const INCOMPARABLE: readonly Single[] = Object.freeze([])

/**
 * Reads the claims that policies refer to. The size of the result is limited, because issuers control the claims.
 * Objects and values that are too large exist but equal no value. A claim that is null counts as missing.
 * @param names claim names or, if they start with `/`, JSON pointers (RFC 6901).
 */
export function readNamedClaims(claims: ReadonlyMap<string, unknown>, names: ClaimNames): NamedClaims {
  if (names.length === 0) return NO_CLAIMS
  return new Map(names.map((name) => [name, toClaimValue(findClaim(claims, name))]))
}

/** Returns whether all claims were read. */
export function hasClaims(claims: NamedClaims, names: ClaimNames): boolean {
  return names.every((name) => claims.has(name))
}

/** Converts a claim to a comparable value. Returns undefined for a missing claim or null. */
export function toClaimValue(value: unknown): ClaimValue | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) return isComparable(value) ? value : INCOMPARABLE
  const members = firstOf(value.slice(0, MAX_MEMBERS).filter(isComparable))
  return members.length === 0 ? INCOMPARABLE : Object.freeze(members)
}

/**
 * Returns a claim with exactly one comparable value, as text. A list is ambiguous, even with one member, because
 * `readNamedClaims()` can have removed other members.
 */
export function singleClaim(claims: NamedClaims | undefined, name: string): string | undefined {
  const value = claims?.get(name)
  return value === undefined || typeof value === 'object' ? undefined : String(value)
}

/** Returns the first members of a list, up to `MAX_LIST_TEXT` characters. */
function firstOf(members: readonly Single[]): readonly Single[] {
  let room = MAX_LIST_TEXT
  return members.filter((member) => {
    room -= typeof member === 'string' ? member.length : 0
    return room >= 0
  })
}

function isComparable(value: unknown): value is Single {
  if (typeof value === 'string') return value.length <= MAX_TEXT
  return typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) <= MAX_NUMBER)
}

function findClaim(claims: ReadonlyMap<string, unknown>, name: string): unknown {
  if (!name.startsWith('/')) return claims.get(name)
  const [first = '', ...rest] = name
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  let value = claims.get(first)
  for (const step of rest) value = memberOf(value, step)
  return value
}

/** Reads only own members of an object, because inherited members such as `toString` are not claims. */
function memberOf(value: unknown, step: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(step) ? value[Number(step)] : undefined
  return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined
}
