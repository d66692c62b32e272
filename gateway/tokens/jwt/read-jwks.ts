import type { DroppedKey, IssuerKey } from './issuer-key.ts'
import { readJwk } from './read-jwk.ts'

/** An issuer's keys, by the name that tokens use for them. */
export type KeySet = {
  readonly keys: readonly IssuerKey[]
  readonly dropped: readonly DroppedKey[]
}

/** No issuer has as many; what lies behind is not looked at. */
const MAX_KEYS = 100

/**
 * Reads a published key set. Keys that break a rule are left out, each with its reason; the others are used.
 * Source: RFC 7517 section 5.
 * @returns undefined when the document is no key set.
 */
export function readJwks(document: unknown, allowed: ReadonlySet<string>): KeySet | undefined {
  if (typeof document !== 'object' || document === null || !('keys' in document)) return undefined
  const { keys: members } = document
  if (!Array.isArray(members)) return undefined
  const keys: IssuerKey[] = []
  const dropped: DroppedKey[] = []
  for (const member of members.slice(0, MAX_KEYS)) {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) {
      dropped.push({ kid: undefined, reason: 'not_a_key' })
      continue
    }
    const jwk = new Map<string, unknown>(Object.entries(member))
    const key = readJwk(jwk, allowed)
    if (typeof key === 'string') dropped.push({ kid: nameOf(jwk), reason: key })
    else if (!keys.some((other) => other.kid === key.kid && isSame(other, key))) keys.push(key)
  }
  if (members.length > MAX_KEYS) dropped.push({ kid: undefined, reason: 'too_many' })
  return withoutDuplicates(keys, dropped)
}

/** RFC 7517 section 4.5: keys of different kinds may share a name. Of one kind, nobody could say which is meant. */
function withoutDuplicates(keys: readonly IssuerKey[], dropped: DroppedKey[]): KeySet {
  const isClear = (key: IssuerKey) =>
    key.kid === undefined ||
    keys.every((other) => other === key || other.kid !== key.kid || other.kind !== key.kind)
  for (const key of keys) if (!isClear(key)) dropped.push({ kid: key.kid, reason: 'duplicate_kid' })
  return { keys: keys.filter(isClear), dropped }
}

function isSame(one: IssuerKey, other: IssuerKey): boolean {
  return one.algorithm === other.algorithm && one.key.equals(other.key)
}

function nameOf(jwk: ReadonlyMap<string, unknown>): string | undefined {
  const kid = jwk.get('kid')
  return typeof kid === 'string' ? kid.slice(0, 100) : undefined
}
