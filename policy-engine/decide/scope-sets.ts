import { LRUCache } from 'lru-cache'
import { formatScope, parseScope } from '../../oauth/scope.ts'

export type GrantedScopes = { readonly set: ReadonlySet<string>; readonly text: string }

/** Maximum number of cached scope strings. */
const SHARED_STRINGS = 1_000

/**
 * Creates a parser that caches its results, so that tokens with the same scopes share one set.
 * Most tokens of one client have the same scopes.
 * @returns a function that returns undefined if a string violates RFC 6749 section 3.3.
 */
export function createScopeSets(): (scope: string) => GrantedScopes | undefined {
  const shared = new LRUCache<string, GrantedScopes>({ max: SHARED_STRINGS })
  return (scope) => {
    const known = shared.get(scope)
    if (known !== undefined) return known
    const tokens = parseScope(scope)
    if (tokens === undefined) return undefined
    const granted = { set: new Set(tokens), text: formatScope(tokens) }
    shared.set(scope, granted)
    return granted
  }
}
