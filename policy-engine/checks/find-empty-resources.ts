import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { Resources } from '../match/resources.ts'

/** Warns of resources that no route lies in: tokens for them would open nothing, so a path is misspelt. Code: C343. */
export function findEmptyResources(
  { all, root, ofTemplate }: Resources,
  routes: readonly Pick<PolicyRoute, 'path'>[],
  shownAs: string,
): readonly Diagnostic[] {
  const used = new Set(routes.flatMap(({ path }) => ofTemplate(path)))
  return all
    .filter((resource) => resource !== root && !used.has(resource))
    .map(({ path }) =>
      diagnostic('C343', `resources: no route lies at or below ${path}`, wholeFile(shownAs), {
        severity: 'warning',
        hint: 'correct the path, or write a policy for it',
      }),
    )
}
