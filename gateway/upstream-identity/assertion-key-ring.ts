import type { AssertionKey } from './assertion-key.ts'

export type AssertionKeyRing = {
  signingKey(nowMs: number): AssertionKey
  /** Returns the keys to publish. The function returns the same array until the set of keys changes. */
  publishedKeys(nowMs: number): readonly AssertionKey[]
  /** Replaces the keys. The first key becomes the signing key after this key has been published for `leadMs`. */
  replace(keys: readonly AssertionKey[], nowMs: number): void
}

type Published = { readonly key: AssertionKey; readonly sinceMs: number; leavesAtMs: number }

/**
 * Creates a key ring that rotates assertion keys. A new key is published first and signs after `leadMs`. A replaced key
 * stays published until its last assertion has expired. Callers pass in the time.
 */
export function createAssertionKeyRing(options: {
  readonly keys: readonly AssertionKey[]
  /** Longest time for which upstreams may cache the published keys. Milliseconds. */
  readonly leadMs: number
  /** Longest time for which an assertion can be valid, clock skew included. Milliseconds. */
  readonly assertionLifeMs: number
}): AssertionKeyRing {
  const { leadMs, assertionLifeMs } = options
  const published = new Map<string, Published>()
  // When the process starts, upstreams cannot have cached older keys of this process. The first keys may therefore sign
  // immediately.
  for (const key of options.keys)
    published.set(key.kid, { key, sinceMs: Number.NEGATIVE_INFINITY, leavesAtMs: Number.POSITIVE_INFINITY })
  let current = firstOf(options.keys)
  let next: { readonly key: AssertionKey; readonly fromMs: number } | undefined
  let list = options.keys

  function signingKey(nowMs: number): AssertionKey {
    if (next !== undefined && nowMs >= next.fromMs) {
      current = next.key
      next = undefined
    }
    return current
  }

  return {
    signingKey,
    publishedKeys(nowMs) {
      for (const [kid, { leavesAtMs }] of published) if (leavesAtMs <= nowMs) published.delete(kid)
      if (list.length !== published.size || list.some(({ kid }) => !published.has(kid)))
        list = [...published.values()].map(({ key }) => key)
      return list
    },
    replace(keys, nowMs) {
      const signing = signingKey(nowMs)
      const successor = firstOf(keys)
      for (const key of keys) {
        const known = published.get(key.kid)
        if (known === undefined)
          published.set(key.kid, { key, sinceMs: nowMs, leavesAtMs: Number.POSITIVE_INFINITY })
        else known.leavesAtMs = Number.POSITIVE_INFINITY
      }
      const sinceMs = published.get(successor.kid)?.sinceMs ?? nowMs
      const fromMs = successor.kid === signing.kid ? nowMs : Math.max(nowMs, sinceMs + leadMs)
      next = successor.kid === signing.kid ? undefined : { key: successor, fromMs }
      const kept = new Set(keys.map(({ kid }) => kid))
      for (const [kid, one] of published) {
        if (kept.has(kid)) continue
        const lastUseMs = kid === signing.kid ? fromMs : nowMs
        one.leavesAtMs = Math.min(one.leavesAtMs, lastUseMs + assertionLifeMs)
        // The replaced key signs until its successor may sign, so its removal time must be later. An earlier rotation
        // may have set an earlier removal time.
        if (kid === signing.kid) one.leavesAtMs = lastUseMs + assertionLifeMs
      }
    },
  }
}

function firstOf(keys: readonly AssertionKey[]): AssertionKey {
  const [first] = keys
  if (first === undefined) throw new Error('a key ring must have at least one key')
  return first
}
