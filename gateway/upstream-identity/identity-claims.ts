import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { ClaimNames, ClaimValue } from '../../policy-engine/decide/named-claims.ts'

/** Returns the headers with claims of a caller: name, value, name, value. */
export type ClaimHeaders = (caller: Caller) => readonly string[]

/** Maximum length of one header value. Many servers accept 8 KiB of headers in total. Characters. */
const MAX_VALUE = 4_096
/**
 * Matches the characters to escape: all characters except visible ASCII, and also `,` (the separator of lists) and `%`.
 */
const ESCAPED = /[^\x21-\x24\x26-\x2b\x2d-\x7e]+/gu

/**
 * Creates the headers with the claims of `identity.claims`. Omits a claim whose value is longer than `MAX_VALUE`. A
 * `WeakMap` holds the headers by caller, so each cached token costs one conversion.
 * @returns undefined if `identity.claims` is empty.
 */
export function createClaimHeaders(names: ClaimNames): ClaimHeaders | undefined {
  if (names.length === 0) return undefined
  const known = new WeakMap<Caller, readonly string[]>()
  return (caller) => {
    const present = known.get(caller)
    if (present !== undefined) return present
    const headers = Object.entries(pickClaims(caller, names)).flatMap(([name, value]) => {
      const text = toHeaderValue(value)
      return text.length > MAX_VALUE ? [] : [headerName(name), text]
    })
    known.set(caller, headers)
    return headers
  }
}

/** Returns the named claims that the caller has. Omits empty lists. */
export function pickClaims(
  { claims }: Pick<Caller, 'claims'>,
  names: ClaimNames,
): Readonly<Record<string, ClaimValue>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = claims.get(name)
      const isUsable = value !== undefined && (!Array.isArray(value) || value.length > 0)
      return isUsable ? [[name, value]] : []
    }),
  )
}

function headerName(claim: string): string {
  return `x-auth-claim-${claim.replaceAll('_', '-')}`
}

/**
 * Returns the members, separated by commas. `,`, `%` and all characters except visible ASCII are percent-encoded as
 * UTF-8.
 */
function toHeaderValue(value: ClaimValue): string {
  const members = Array.isArray(value) ? value : [value]
  return members.map((member) => String(member).toWellFormed().replace(ESCAPED, encodeURIComponent)).join(',')
}
