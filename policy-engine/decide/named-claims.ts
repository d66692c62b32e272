type Single = string | number | boolean

/** What a claim says, as far as policies can compare it: one value, or the members of a list that are such values. */
export type ClaimValue = Single | readonly Single[]

/**
 * The claims that policies name, and no other: by the name that a policy uses. A claim that was looked for and is not there is
 * under its name as undefined; a name that is not there was not looked for.
 */
export type NamedClaims = ReadonlyMap<string, ClaimValue | undefined>

/** Which claims are read of a token: the names in all policies, sorted. The same array for the same policies. */
export type ClaimNames = readonly string[]

/** What a request has to know of the claims of its token. */
export type ClaimSelection = {
  /** Those that its route looks at. */
  readonly needed: ClaimNames
  /** Those that are read of the token when it is asked about: the needed ones among them. */
  readonly names: ClaimNames
}

/** No policy looks at claims. */
export const NO_NAMES: ClaimNames = Object.freeze([])
/** What is known when none was looked for. */
export const NO_CLAIMS: NamedClaims = new Map()

/** A route that looks at no claims, where no other one does. */
export const EMPTY_CLAIM_SELECTION: ClaimSelection = Object.freeze({ needed: NO_NAMES, names: NO_NAMES })

/** A longer text is there, and equals nothing. Characters. */
const MAX_TEXT = 1_024
/** Of a longer list the first ones count. */
const MAX_MEMBERS = 256
/** The same for the characters of all of them. */
const MAX_LIST_TEXT = 8_192
/** A larger number may be its neighbour, rounded where it was read: it is there, and equals nothing. */
const MAX_NUMBER = Number.MAX_SAFE_INTEGER
/** Something is there that cannot be compared: it exists, and equals nothing. */
const INCOMPARABLE: readonly Single[] = Object.freeze([])

/**
 * Reads the claims that policies name. Whatever an issuer says in them, the result is small: what is too large, or an object,
 * is there and equals nothing. A claim that is null counts as one that is not there.
 * @param names claims by name or, with a `/` in front, by JSON pointer (RFC 6901).
 */
export function readNamedClaims(claims: ReadonlyMap<string, unknown>, names: ClaimNames): NamedClaims {
  if (names.length === 0) return NO_CLAIMS
  return new Map(names.map((name) => [name, toClaimValue(findClaim(claims, name))]))
}

/** Whether each of the names was looked for. */
export function knowsClaims(claims: NamedClaims, names: ClaimNames): boolean {
  return names.every((name) => claims.has(name))
}

/** What a value of a claim comes to; undefined for one that is not there. */
export function toClaimValue(value: unknown): ClaimValue | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) return isComparable(value) ? value : INCOMPARABLE
  const members = firstOf(value.slice(0, MAX_MEMBERS).filter(isComparable))
  return members.length === 0 ? INCOMPARABLE : Object.freeze(members)
}

/** As many of them as there is room for. */
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

/** Own members only: nothing that every object has is a claim. */
function memberOf(value: unknown, step: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(step) ? value[Number(step)] : undefined
  return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined
}
