import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'

/** An entry of `routes` as it is written, whatever is wrong with it, and its position. */
export type RawRoute = { readonly route: Readonly<Record<string, unknown>>; readonly index: number }

/** The routes of a file that are maps at all: checks look at what has the right shape, whatever is wrong beside it. */
export function rawRoutes(document: YamlDocument): readonly RawRoute[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) =>
    typeof route === 'object' && route !== null && !Array.isArray(route)
      ? [{ route: route as Record<string, unknown>, index }]
      : [],
  )
}
