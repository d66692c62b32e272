import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { PolicyRoute } from '../load/policy-route.ts'
import type { ResourceSettings, Resources } from '../match/resources.ts'

/**
 * Finds resources without routes. Tokens for such a resource are useless, so the path of the resource is probably
 * misspelled. Code: C343, a warning.
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
        hint: 'correct the path, or add a policy for this path',
      }),
    )
}

/** Finds scopes in `resources[].scopes` that the catalogue does not contain. Code: C347. */
export function findUnknownBaselineScopes(
  resources: readonly Pick<ResourceSettings, 'scopes'>[],
  catalogue: ReadonlyMap<string, unknown>,
  shownAs: string,
): readonly Diagnostic[] {
  const known = [...catalogue.keys()]
  return resources.flatMap(({ scopes = [] }, index) =>
    scopes.flatMap((scope, at) => {
      if (catalogue.has(scope)) return []
      const near = suggest(scope, known)
      return [
        diagnostic(
          'C347',
          `resources[${index}].scopes[${at}]: scope "${scope}" is not in the scope catalogue`,
          wholeFile(shownAs),
          {
            hint:
              near === undefined ? 'remove the scope, or add it to the catalogue' : `did you mean "${near}"?`,
          },
        ),
      ]
    }),
  )
}
