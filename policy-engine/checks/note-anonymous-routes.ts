import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import type { PolicyRoute } from '../load/policy-route.ts'

/**
 * Reports the routes that anonymous callers can reach, and the scopes that they do not need there.
 * `anonymous: allow` together with `scopes` is easy to misread.
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
  const place: SourceLocation = { ...first.source, length: 1, text: undefined }
  const message = `anonymous callers reach ${names} ${how(routes)}`
  return [diagnostic('N301', message, place, { severity: 'note' })]
}

function scopesOf({ scopes }: PolicyRoute): readonly string[] {
  return [...(scopes?.all ?? []), ...(scopes?.any ?? [])]
}
