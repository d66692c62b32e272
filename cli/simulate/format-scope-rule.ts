import type { ScopeRule } from '../../policy-engine/load/policy-route.ts'

/** Formats the required scopes, e.g. `all of: a, b and one of: c, d`. */
export function formatScopeRule({ all, any }: ScopeRule): string {
  return [
    ...(all.length > 0 ? [`all of: ${all.join(', ')}`] : []),
    ...(any.length > 0 ? [`one of: ${any.join(', ')}`] : []),
  ].join(' and ')
}
