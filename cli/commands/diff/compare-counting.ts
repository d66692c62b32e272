import type { CompiledRoute } from '../../../policy-engine/decide/compile-policies.ts'
import { SAME } from './compare-access.ts'
import type { Detail } from './compare-routes.ts'

export type Successor = readonly [old: CompiledRoute, now: CompiledRoute]

/**
 * Finds requests that newly share a rate limit, or that no longer share a rate limit. Each route has its own counter,
 * so each part of a split route has the full limit.
 * @param successors every pair of routes that a request matches, in any order and number.
 * @returns a function that describes the change for a pair of routes. The function returns undefined without a change.
 * It also returns undefined for a pair with equal names, because the pairs with different names describe the change.
 */
export function compareCounting(
  successors: Iterable<Successor>,
): (old: CompiledRoute, now: CompiledRoute) => Detail | undefined {
  const newNames = new Map<string, Set<string>>()
  const oldNames = new Map<string, Set<string>>()
  for (const [old, now] of successors) {
    if (!isCounted(old, now)) continue
    add(newNames, old.policy.name, now.policy.name)
    add(oldNames, now.policy.name, old.policy.name)
  }
  return (old, now) => {
    const [one, other] = [old.policy.name, now.policy.name]
    if (!isCounted(old, now) || one === other) return undefined
    const left = (newNames.get(one)?.size ?? 0) > 1
    const joined = (oldNames.get(other)?.size ?? 0) > 1
    if (!left && !joined) return undefined
    return {
      what: 'counted',
      old: left ? `together with ${one}` : 'separately',
      now: joined ? `together with ${other}` : 'separately',
      ...SAME,
    }
  }
}

/**
 * Returns true when both routes have a rate limit. If only one route has a limit, the command reports a change of the
 * limit.
 */
function isCounted(old: CompiledRoute, now: CompiledRoute): boolean {
  return old.policy.rateLimit !== undefined && now.policy.rateLimit !== undefined
}

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}
