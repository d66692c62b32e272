import { LRUCache } from 'lru-cache'
import { formatScope, NO_IMPLICATION, parseScope, type ScopeImplication } from '../../oauth/scope.ts'
import type { ScopeRule } from '../load/policy-route.ts'

/** A required scope, and all scopes that grant this scope. The list begins with the scope itself. */
export type ScopeNeed = { readonly scope: string; readonly grantedBy: readonly string[] }

/** Compiled scope rule. The rule contains the implications of the catalogue, so a request needs only set lookups. */
export type ScopeCheck = {
  readonly all: readonly ScopeNeed[]
  readonly any: readonly ScopeNeed[]
  /** Scope that represents `any` in the list of missing scopes. undefined if `any` is empty. */
  readonly advertised: string | undefined
  /** Scopes that challenges advertise. */
  readonly needed: readonly string[]
}

/** Compiles a rule. Returns undefined without a rule, because the route then does not require scopes. */
export function compileScopeCheck(
  rule: ScopeRule | undefined,
  implication: ScopeImplication,
): ScopeCheck | undefined {
  if (rule === undefined) return undefined
  const toNeed = (scope: string): ScopeNeed => ({ scope, grantedBy: implication.get(scope) ?? [scope] })
  return Object.freeze({
    all: rule.all.map(toNeed),
    any: rule.any.map(toNeed),
    advertised: rule.advertise ?? rule.any[0],
    needed: neededScopes(rule, implication),
  })
}

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

const NONE: readonly string[] = []

/**
 * Returns the scopes that a challenge advertises, in policy order and without duplicates. Includes the scopes of `all`,
 * except scopes that another scope of `all` implies. Also includes the scope `advertise`, by default the first scope of
 * `any`, unless the scopes of `all` satisfy `any`.
 */
export function neededScopes(
  rule: ScopeRule | undefined,
  implication: ScopeImplication = NO_IMPLICATION,
): readonly string[] {
  if (rule === undefined) return NONE
  const isGivenBy = (scope: string, others: readonly string[]) =>
    others.some((other) => other !== scope && implication.get(scope)?.includes(other) === true)
  const all = rule.all.filter((scope) => !isGivenBy(scope, rule.all))
  const advertised = rule.advertise ?? rule.any[0]
  const isSatisfied = rule.any.some((scope) => all.includes(scope) || isGivenBy(scope, all))
  return advertised === undefined || isSatisfied ? all : [...all, advertised]
}
