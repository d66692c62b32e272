import { activeKeys, keyId, keyType, type SigningKeys } from './signing-keys.ts'

/** Changes of signing keys that are probably mistakes, with the text for the log. */
export const RISKS = {
  removed_while_signing:
    'the file no longer has a key that signed tokens until now: gateways reject these tokens. Restore the key, unless it leaked.',
  signs_at_once:
    'a new signing key signs at once: gateways that have not fetched the key reject its tokens. Give new keys notBefore (scopegate keys rotate).',
  never_signs:
    'a new signing key has no notBefore, so it does not sign: a key with notBefore signs instead. Use scopegate keys rotate.',
} as const

export type KeyRisk = { readonly kid: string; readonly reason: keyof typeof RISKS }

/** Compares two key sets, and returns the changes that are probably mistakes. */
export function findRisks(before: SigningKeys, after: SigningKeys, nowSeconds: number): readonly KeyRisk[] {
  const known = new Set(before.keys.map(keyId))
  const kept = new Set(after.keys.map(keyId))
  const signing = new Set(Object.values(signingKids(after, nowSeconds)))
  const removed = Object.values(signingKids(before, nowSeconds)).filter((kid) => !kept.has(kid))
  const added = after.keys.filter((key) => !known.has(keyId(key)))
  return [
    ...removed.map((kid) => ({ kid, reason: 'removed_while_signing' as const })),
    ...added.flatMap((key): readonly KeyRisk[] => {
      const kid = keyId(key)
      if (signing.has(kid)) return [{ kid, reason: 'signs_at_once' }]
      return key.notBefore === undefined ? [{ kid, reason: 'never_signs' }] : []
    }),
  ]
}

/** Returns the `kid` of the key that signs now, by the type of key. */
export function signingKids(keys: SigningKeys, nowSeconds: number): Readonly<Record<string, string>> {
  const ids = activeKeys(keys, nowSeconds).keys.map((key) => [keyType(key), keyId(key)] as const)
  return Object.fromEntries(ids.toReversed())
}
