import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'

/**
 * Chooses the path of the example request in the banner. Prefers routes for anonymous callers, then paths without
 * parameters, then collections, which are paths that another route extends.
 * @returns a path with sample values for parameters, or undefined when no route accepts GET.
 */
export function exampleTarget(routes: readonly PolicyRoute[]): string | undefined {
  const readable = routes.filter(
    ({ methods, matchHeaders }) => methods.includes('GET') && matchHeaders.length === 0,
  )
  const rank = ({ anonymous, path }: PolicyRoute): number =>
    (anonymous === 'allow' ? 0 : 4) +
    (/[{*]/.test(path) ? 2 : 0) +
    (routes.some((other) => other.path.startsWith(`${path}/`)) ? 0 : 1)
  const [best] = readable.toSorted((a, b) => rank(a) - rank(b))
  return best?.path.replace(/\{[^}]*\}/g, '1').replace('**', '')
}
