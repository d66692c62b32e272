import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { rawRoutes } from '../load/raw-routes.ts'

/**
 * Finds a list of origins that contains `*` and other origins. The `*` makes the other origins redundant. Code: P320.
 */
export function checkCors(document: YamlDocument): readonly Diagnostic[] {
  const { defaults } = (document.value ?? {}) as { defaults?: { cors?: unknown } | null }
  return [
    ...checkCorsEntry(defaults?.cors, ['defaults', 'cors'], document),
    ...rawRoutes(document).flatMap(({ route, index }) =>
      checkCorsEntry(route['cors'], ['routes', index, 'cors'], document),
    ),
  ]
}

/** Checks the `cors` of one route, of defaults or of a preset at the path `at`. */
export function checkCorsEntry(cors: unknown, at: YamlPath, document: YamlDocument): readonly Diagnostic[] {
  const origins = (cors as { origins?: unknown } | null | undefined)?.origins
  if (!Array.isArray(origins) || origins.length < 2) return []
  const star = origins.indexOf('*')
  if (star === -1) return []
  return [
    diagnostic(
      'P320',
      '"*" allows every origin, so the other origins have no effect',
      document.locationOf([...at, 'origins', star]),
      {
        hint: 'keep either "*" or the other origins',
      },
    ),
  ]
}
