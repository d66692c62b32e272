import { styleText } from 'node:util'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'

/** Formats the route table for a terminal: one line per path, with the required scopes of each method. */
export function formatRouteTable(routes: readonly PolicyRoute[]): string {
  const byPath = new Map<string, PolicyRoute[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  const width = Math.max(...[...byPath.keys()].map((path) => path.length), 0)
  return [...byPath]
    .map(
      ([path, group]) => `  ${path.padEnd(width)}  ${group.map(formatRule).join(styleText('dim', '  ·  '))}`,
    )
    .join('\n')
}

function formatRule(route: PolicyRoute): string {
  return `${route.methods.join(',')} ${styleText('cyan', formatScopes(route))}`
}

function formatScopes(route: PolicyRoute): string {
  if (route.scopes === undefined) return '-'
  const { all, any } = route.scopes
  return [...all, ...(any.length > 0 ? [`one of ${any.join(', ')}`] : [])].join(' and ')
}
