import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyRoute } from '../load/policy-route.ts'

/**
 * Reports audit-only routes. `enforce: report` is a temporary setting and easy to leave in place.
 * Code: N302, one note for each policy.
 */
export function noteAuditOnlyRoutes(routes: readonly PolicyRoute[]): readonly Diagnostic[] {
  const reported = routes.filter((route) => route.enforce === 'report')
  return [...Map.groupBy(reported, (route) => route.policy).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = group.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
    const message = `denials at ${names} are logged but not enforced`
    const place = { ...first.source, length: 1, text: undefined }
    return [diagnostic('N302', message, place, { severity: 'note' })]
  })
}
