import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-places.ts'
import { parsePathTemplate } from '../match/path-template.ts'

/**
 * Finds routes to the authorization server that can reach a path below `/internal`, which is for gateways only.
 * The upstream path must start with a literal segment other than `internal`, because a parameter could match it.
 * Code: P307.
 */
export function checkInternalPaths(
  document: YamlDocument,
  authorizationServers: ReadonlySet<string>,
): readonly Diagnostic[] {
  const { upstream, routes } = (document.value ?? {}) as { upstream?: unknown; routes?: unknown }
  if (typeof upstream !== 'string' || !authorizationServers.has(upstream) || !Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) => {
    const { match, rewrite } = (route ?? {}) as {
      match?: { path?: unknown } | null
      rewrite?: { path?: unknown } | null
    }
    const key = typeof rewrite?.path === 'string' ? 'rewrite' : 'match'
    const path = key === 'rewrite' ? rewrite?.path : match?.path
    if (typeof path !== 'string' || !mayBeInternal(path)) return []
    const at: YamlPath = ['routes', index, key, 'path']
    const message = `${path} can match a path below /internal of the authorization server ${upstream}`
    return [
      diagnostic('P307', message, document.placeOf(at), {
        hint: 'start the path with a literal segment other than internal',
      }),
    ]
  })
}

/** Returns false for invalid paths, which other checks report. P302 also reports a route path below `/internal`. */
function mayBeInternal(path: string): boolean {
  const template = parsePathTemplate(path)
  if ('problem' in template) return false
  const [first] = template.segments
  if (first === undefined) return template.below
  return 'parameter' in first || first.literal.toLowerCase() === 'internal'
}
