import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { ResourceSettings } from '../match/resources.ts'

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
          `resources[${index}].scopes[${at}]: scope "${scope}" is not in the catalogue (config/scopes.yaml)`,
          wholeFile(shownAs),
          { hint: near === undefined ? 'remove it, or add it to the catalogue' : `did you mean "${near}"?` },
        ),
      ]
    }),
  )
}
