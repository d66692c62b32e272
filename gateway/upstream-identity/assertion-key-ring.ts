import type { AssertionKey } from './assertion-key.ts'

/** Which key signs, and which keys upstreams may meet. */
export type AssertionKeyRing = {
  signingKey(nowMs: number): AssertionKey
  /** The keys to publish; the same array as long as it holds the same keys. */
  publishedKeys(nowMs: number): readonly AssertionKey[]
  /** Puts other keys in force, the first of which is to sign. */
  replace(keys: readonly AssertionKey[], nowMs: number): void
}

type Published = { readonly key: AssertionKey; readonly sinceMs: number; leavesAtMs: number }

/**
 * Keeps the keys of assertions through a rotation: a key that upstreams may not have seen yet is published first and signs
 * after `leadMs`; one that is replaced stays published until its last assertion has ended. Time is passed in.
 */
export function createAssertionKeyRing(options: {
  readonly keys: readonly AssertionKey[]
  /** How long upstreams may keep what they read. Milliseconds. */
  readonly leadMs: number
  /** How long an assertion may be believed, clocks that differ included. Milliseconds. */
  readonly assertionLifeMs: number
}): AssertionKeyRing {
  const { leadMs, assertionLifeMs } = options
  const published = new Map<string, Published>()
  // Whoever asks a process that has just begun has seen no other keys of it.
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
        // It signs on until its successor may, whatever was planned for it before.
        if (kid === signing.kid) one.leavesAtMs = lastUseMs + assertionLifeMs
      }
    },
  }
}

function firstOf(keys: readonly AssertionKey[]): AssertionKey {
  const [first] = keys
  if (first === undefined) throw new Error('a key ring needs a key')
  return first
}
