import { thumbprintOf } from '../../oauth/jwt/thumbprint.ts'
import type { VerificationKey } from '../../oauth/jwt/verification-key.ts'
import { displayText } from '../../platform/pages/html.ts'

/** A usable key of an issuer, without its public members. Plain data. */
export type ListedKey = {
  /** Identifies the key in the lists of all processes. */
  readonly thumbprint: string
  /** At most 100 visible characters. null: the key has no ID. */
  readonly kid: string | null
  /** null: each accepted algorithm that fits the key type. */
  readonly algorithm: string | null
  /** For example `RSA, 2048 bits` or `EC, P-256`. */
  readonly type: string
  /** null: the issuer does not publish the use. */
  readonly use: string | null
}

/** The keys of one issuer in one process. Plain data. */
export type IssuerKeyList = { readonly issuer: string; readonly keys: readonly ListedKey[] }

/** A key, and the number of processes that have the key. */
export type CountedKey = ListedKey & { readonly processes: number }

export function listKeys(
  issuers: readonly {
    readonly issuer: string
    readonly keys: { readonly current: readonly VerificationKey[] } | undefined
  }[],
): readonly IssuerKeyList[] {
  return issuers.flatMap(({ issuer, keys }) =>
    keys === undefined ? [] : [{ issuer, keys: keys.current.map(toListedKey) }],
  )
}

function toListedKey({ kid, algorithm, kind, key, publicJwk }: VerificationKey): ListedKey {
  return {
    thumbprint: thumbprintOf(publicJwk),
    kid: kid === undefined ? null : (displayText(kid) ?? '(no visible characters)'),
    algorithm: algorithm ?? null,
    type: `${kind.kty}, ${kind.curve ?? `${key.asymmetricKeyDetails?.modulusLength} bits`}`,
    use: publicJwk['use'] ?? null,
  }
}

/** Merges the lists of all processes. During a rotation, some processes have keys that other processes do not have. */
export function mergeKeys(
  lists: readonly (readonly IssuerKeyList[])[],
): ReadonlyMap<string, readonly CountedKey[]> {
  const issuers = Map.groupBy(lists.flat(), ({ issuer }) => issuer)
  return new Map(
    [...issuers].map(([issuer, lists]) => {
      // A process can have keys that differ only in the part of the key ID that the list does not contain.
      const texts = lists.flatMap(({ keys }) => [...new Set(keys.map((key) => JSON.stringify(key)))])
      const same = Map.groupBy(texts, (text) => text)
      return [
        issuer,
        [...same].map(([text, { length }]) => ({ ...(JSON.parse(text) as ListedKey), processes: length })),
      ]
    }),
  )
}
