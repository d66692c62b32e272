import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { PolicyFile } from '../format/policy-file.ts'
import type { Presets } from '../format/presets.ts'
import type { PolicyRoute } from '../load/policy-route.ts'

/**
 * Reports the routes that anonymous callers can reach, and the scopes that anonymous callers do not need there. The
 * reason: authors often misread `anonymous: allow` together with `scopes`.
 * Code: N301. Each policy has one note for routes with scopes and one for routes without scopes.
 */
export function noteAnonymousRoutes(routes: readonly PolicyRoute[]): readonly Diagnostic[] {
  const open = routes.filter((route) => route.anonymous === 'allow')
  return [...Map.groupBy(open, (route) => route.policy).values()].flatMap((group) => [
    ...note(
      group.filter((route) => route.scopes === undefined),
      () => '(no required scopes)',
    ),
    ...note(
      group.filter((route) => route.scopes !== undefined),
      (found) => `without ${[...new Set(found.flatMap(scopesOf))].join(', ')}`,
    ),
  ])
}

function note(
  routes: readonly PolicyRoute[],
  how: (routes: readonly PolicyRoute[]) => string,
): readonly Diagnostic[] {
  const [first] = routes
  if (first === undefined) return []
  const names = routes.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
  const location: SourceLocation = { ...first.source, length: 1, text: undefined }
  const message = `anonymous callers reach ${names} ${how(routes)}`
  return [diagnostic('N301', message, location, { severity: 'note' })]
}

function scopesOf({ scopes }: PolicyRoute): readonly string[] {
  return [...(scopes?.all ?? []), ...(scopes?.any ?? [])]
}

/**
 * Reports audit-only routes. `enforce: report` is a temporary setting, which is easy to forget. Code: N302, one note
 * for each policy.
 */
export function noteAuditOnlyRoutes(routes: readonly PolicyRoute[]): readonly Diagnostic[] {
  const reported = routes.filter((route) => route.enforce === 'report')
  return [...Map.groupBy(reported, (route) => route.policy).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const names = group.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
    const message = `denials at ${names} are logged but not enforced`
    const location = { ...first.source, length: 1, text: undefined }
    return [diagnostic('N302', message, location, { severity: 'note' })]
  })
}

/**
 * Finds routes that allow anonymous callers only because of the built-in default. Neither the route, nor `defaults`,
 * nor the preset has the key `anonymous`. Code: P314, one warning for each route. The file must have passed all checks.
 */
export function findImplicitAnonymous(
  { routes, defaults }: PolicyFile,
  document: YamlDocument,
  presets: Presets,
): readonly Diagnostic[] {
  return routes.flatMap((route, index) => {
    const preset = presets.byName.get(route.extends ?? defaults?.extends ?? '')
    if ((route.anonymous ?? defaults?.anonymous ?? preset?.anonymous) !== undefined) return []
    const message = `anonymous callers reach ${route.name} without an explicit "anonymous" key`
    return [
      diagnostic('P314', message, document.locationOf(['routes', index, 'name']), {
        severity: 'warning',
        hint: 'write anonymous: challenge or deny, or anonymous: allow if the route is public',
      }),
    ]
  })
}
