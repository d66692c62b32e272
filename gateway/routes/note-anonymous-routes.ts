import { type Diagnostic, diagnostic, type Place } from '../../runtime/diagnostic.ts'
import type { PolicyRoute } from './policy-route.ts'

/**
 * Says which routes anonymous callers reach without the scopes that a token would need: `anonymous: allow` beside `scopes`
 * is meant that way, and easy to misread. Code N301, one note for each policy.
 */
export function noteAnonymousRoutes(routes: readonly PolicyRoute[]): readonly Diagnostic[] {
  const open = routes.filter((route) => route.scopes !== undefined && route.anonymous === 'allow')
  return [...Map.groupBy(open, (route) => route.policy).values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const scopes = new Set(
      group.flatMap((route) => [...(route.scopes?.all ?? []), ...(route.scopes?.any ?? [])]),
    )
    const names = group.map((route) => route.name.slice(route.policy.length + 1)).join(', ')
    const place: Place = { ...first.source, length: 1, text: undefined }
    return [
      diagnostic('N301', `anonymous callers reach ${names} without ${[...scopes].join(', ')}`, place, {
        severity: 'note',
      }),
    ]
  })
}
