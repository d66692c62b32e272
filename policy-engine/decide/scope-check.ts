import type { ScopeImplication } from '../../oauth/scope-implication.ts'
import type { ScopeRule } from '../load/policy-route.ts'
import { neededScopes } from './needed-scopes.ts'

/** Required scope, and all scopes that grant it. The first one is the scope itself. */
export type ScopeNeed = { readonly scope: string; readonly grantedBy: readonly string[] }

/** Compiled scope rule. It contains the implications of the catalogue, so a request needs only set lookups. */
export type ScopeCheck = {
  readonly all: readonly ScopeNeed[]
  readonly any: readonly ScopeNeed[]
  /** Scope that represents `any` in the missing scopes. undefined if `any` is empty. */
  readonly advertised: string | undefined
  /** Scopes that challenges advertise. */
  readonly needed: readonly string[]
}

/** Compiles a rule. Returns undefined without a rule: the route does not require scopes. */
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
