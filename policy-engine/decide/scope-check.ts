import type { ScopeImplication } from '../../oauth/scope-implication.ts'
import type { ScopeRule } from '../load/policy-route.ts'
import { neededScopes } from './needed-scopes.ts'

/** A scope, and all that are as good as it: itself first. */
export type ScopeNeed = { readonly scope: string; readonly grantedBy: readonly string[] }

/** A scope rule with what the catalogue says about scopes worked in, so that a request looks into a set and nowhere else. */
export type ScopeCheck = {
  readonly all: readonly ScopeNeed[]
  readonly any: readonly ScopeNeed[]
  /** What stands for `any` when none of them is there; undefined without any. */
  readonly advertised: string | undefined
  /** What callers are told to ask for. */
  readonly needed: readonly string[]
}

/** Compiles a rule; undefined stays undefined: a token is optional. */
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
