import { LRUCache } from 'lru-cache'
import { formatScope, parseScope } from '../../oauth/scope.ts'

/** The scopes of a token in the two forms a request needs. */
export type GrantedScopes = { readonly set: ReadonlySet<string>; readonly text: string }

/** Distinct scope strings that are worth sharing between tokens; more are still parsed, just not shared. */
const SHARED_STRINGS = 1_000

/**
 * Parses scope strings so that tokens with the same scopes share one set: most tokens of a client do.
 * @returns undefined when the string does not follow RFC 6749 section 3.3.
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
