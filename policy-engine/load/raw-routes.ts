import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'

/** Unchecked entry of `routes`, and its position. */
export type RawRoute = { readonly route: Readonly<Record<string, unknown>>; readonly index: number }

/**
 * Returns the entries of `routes` that are maps. Checks read the valid parts of a route even if other parts are
 * invalid.
 */
export function rawRoutes(document: YamlDocument): readonly RawRoute[] {
  const routes = (document.value as { routes?: unknown } | null)?.routes
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) => (isRecord(route) ? [{ route, index }] : []))
}
