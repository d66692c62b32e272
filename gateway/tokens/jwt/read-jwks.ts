import { readJwk } from '../../../oauth/jwt/read-jwk.ts'
import type { KeyFault, VerificationKey } from '../../../oauth/jwt/verification-key.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'

/**
 * The reason why a key in an issuer's key set is not used. Logs and `scopegate_jwks_keys_dropped_total` contain these
 * names.
 */
export type DropReason = 'not_a_key' | KeyFault | 'duplicate_kid' | 'too_many'

/** The usable keys of an issuer's key set, and the dropped keys. */
export type KeySet = {
  readonly keys: readonly VerificationKey[]
  readonly dropped: readonly DroppedKey[]
}

type DroppedKey = { readonly kid: string | undefined; readonly reason: DropReason }

/** Maximum number of keys, which is more than any issuer publishes. The gateway ignores further keys. */
const MAX_KEYS = 100

/**
 * Validates a published key set. Drops keys that violate a rule, and returns the reasons. Source: RFC 7517 section 5.
 * @returns undefined when the document is not a key set.
 */
export function readJwks(document: unknown, allowed: ReadonlySet<string>): KeySet | undefined {
  if (typeof document !== 'object' || document === null || !('keys' in document)) return undefined
  const { keys: members } = document
  if (!Array.isArray(members)) return undefined
  const keys: VerificationKey[] = []
  const dropped: DroppedKey[] = []
  for (const member of members.slice(0, MAX_KEYS)) {
    if (!isRecord(member)) {
      dropped.push({ kid: undefined, reason: 'not_a_key' })
      continue
    }
    const jwk = new Map(Object.entries(member))
    const key = readJwk(jwk, allowed)
    if (typeof key === 'string') dropped.push({ kid: nameOf(jwk), reason: key })
    else if (!keys.some((other) => other.kid === key.kid && isSame(other, key))) keys.push(key)
  }
  if (members.length > MAX_KEYS) dropped.push({ kid: undefined, reason: 'too_many' })
  return withoutDuplicates(keys, dropped)
}

/**
 * RFC 7517 section 4.5: keys of different kinds may share a `kid`. Keys of one kind with the same `kid` are ambiguous,
 * so the gateway drops all of these keys.
 */
function withoutDuplicates(keys: readonly VerificationKey[], dropped: DroppedKey[]): KeySet {
  const isClear = (key: VerificationKey) =>
    key.kid === undefined ||
    keys.every((other) => other === key || other.kid !== key.kid || other.kind !== key.kind)
  for (const key of keys) if (!isClear(key)) dropped.push({ kid: key.kid, reason: 'duplicate_kid' })
  return { keys: keys.filter(isClear), dropped }
}

function isSame(one: VerificationKey, other: VerificationKey): boolean {
  return one.algorithm === other.algorithm && one.key.equals(other.key)
}

function nameOf(jwk: ReadonlyMap<string, unknown>): string | undefined {
  const kid = jwk.get('kid')
  return typeof kid === 'string' ? kid.slice(0, 100) : undefined
}
