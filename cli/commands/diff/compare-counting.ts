import type { CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import type { Detail } from './compare-routes.ts'
import { SAME } from './compare-scopes.ts'

/** A route that requests met, and the one that they meet now. */
export type Successor = readonly [old: CompiledRoute, now: CompiledRoute]

/**
 * Finds where requests are counted together that were not, or no longer are: each route counts for itself, so a limit that is
 * split along with its route lets each part have all of it, whatever the rule says.
 * @param successors every pair of routes that some request meets, in any order and number.
 * @returns what to tell of such a pair; of a route that keeps its name, what left it and what joined it is told.
 */
export function compareCounting(
  successors: Iterable<Successor>,
): (old: CompiledRoute, now: CompiledRoute) => Detail | undefined {
  const heirs = new Map<string, Set<string>>()
  const forebears = new Map<string, Set<string>>()
  for (const [old, now] of successors) {
    if (!isCounted(old, now)) continue
    add(heirs, old.policy.name, now.policy.name)
    add(forebears, now.policy.name, old.policy.name)
  }
  return (old, now) => {
    const [one, other] = [old.policy.name, now.policy.name]
    if (!isCounted(old, now) || one === other) return undefined
    const left = (heirs.get(one)?.size ?? 0) > 1
    const joined = (forebears.get(other)?.size ?? 0) > 1
    if (!left && !joined) return undefined
    return {
      what: 'counted',
      old: left ? `with the rest of ${one}` : 'for itself',
      now: joined ? `with the rest of ${other}` : 'for itself',
      ...SAME,
    }
  }
}

/** What has a limit on one side alone is told of as that. */
function isCounted(old: CompiledRoute, now: CompiledRoute): boolean {
  return old.policy.rateLimit !== undefined && now.policy.rateLimit !== undefined
}

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}
