import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { Resources } from '../match/resources.ts'

/**
 * Finds resources without routes. Their tokens would be useless, so the path is probably misspelled.
 * Code: C343, a warning.
 */
export function findEmptyResources(
  { all, root, ofTemplate }: Resources,
  routes: readonly Pick<PolicyRoute, 'path'>[],
  shownAs: string,
): readonly Diagnostic[] {
  const used = new Set(routes.flatMap(({ path }) => ofTemplate(path)))
  return all
    .filter((resource) => resource !== root && !used.has(resource))
    .map(({ path }) =>
      diagnostic('C343', `resources: no route is at or below ${path}`, wholeFile(shownAs), {
        severity: 'warning',
        hint: 'correct the path, or add a policy for it',
      }),
    )
}
