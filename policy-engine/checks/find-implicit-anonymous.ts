import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyFile } from '../format/policy-file.ts'
import type { Presets } from '../format/presets.ts'

/**
 * Finds routes that allow anonymous callers only because of the built-in default.
 * The route, `defaults` and the preset do not have the key `anonymous`. Code: P314, one warning for each route.
 * The file must have passed all checks.
 */
export function findImplicitAnonymous(
  { routes, defaults }: PolicyFile,
  document: YamlDocument,
  presets: Presets,
): readonly Diagnostic[] {
  return routes.flatMap((route, index) => {
    const preset = presets.get(route.extends ?? defaults?.extends ?? '')
    if ((route.anonymous ?? defaults?.anonymous ?? preset?.anonymous) !== undefined) return []
    const message = `anonymous callers reach ${route.name} without an explicit "anonymous" key`
    return [
      diagnostic('P314', message, document.placeOf(['routes', index, 'name']), {
        severity: 'warning',
        hint: 'write anonymous: challenge or deny, or anonymous: allow if the route is public',
      }),
    ]
  })
}
