import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-places.ts'
import { parseMount, rawMount } from '../load/mount.ts'
import { rawRoutes } from '../load/raw-routes.ts'

/**
 * Checks the mounts of `defaults` and of routes.
 * Codes: P108 not a prefix, P302 reserved by Scopegate, P315 (warning) every path repeats the mount of `defaults`.
 */
export function checkMounts(document: YamlDocument): readonly Diagnostic[] {
  const mount = rawMount((document.value as { defaults?: unknown } | null)?.defaults)
  return [
    ...checkMount(mount, ['defaults', 'mount'], document),
    ...rawRoutes(document).flatMap(({ route, index }) =>
      checkMount(rawMount(route), ['routes', index, 'mount'], document),
    ),
    ...checkRepetition(mount, document),
  ]
}

function checkMount(mount: unknown, at: YamlPath, document: YamlDocument): readonly Diagnostic[] {
  if (typeof mount !== 'string' || mount === '') return []
  const parsed = parseMount(mount)
  if ('prefix' in parsed) return []
  return [diagnostic(parsed.code, parsed.problem, document.placeOf(at), { hint: parsed.hint })]
}

/**
 * Warns only if all paths repeat the mount.
 * One such path can be correct: an API at `/trains` may have a collection `trains`.
 */
function checkRepetition(mount: unknown, document: YamlDocument): readonly Diagnostic[] {
  if (typeof mount !== 'string' || mount === '/') return []
  const mounted = rawRoutes(document).filter(({ route }) => rawMount(route) === undefined)
  const paths = mounted.map(({ route }) => String((route['match'] as { path?: unknown } | null)?.path))
  const [first] = paths
  if (first === undefined || !paths.every((path) => `${path}/`.startsWith(`${mount}/`))) return []
  const message = `every path repeats the mount: clients reach the first route at ${mount}${first}`
  return [
    diagnostic('P315', message, document.placeOf(['defaults', 'mount']), {
      severity: 'warning',
      hint: `write match.path without ${mount}`,
    }),
  ]
}
