import { buildOpenapi } from '../../../gateway/discovery/openapi.ts'
import type { JsonObject } from '../../../gateway/discovery/openapi-components.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import type { PolicySet } from '../../open-policy-set.ts'
import { routeKeys } from '../../openapi/route-keys.ts'

/** The document, and the routes that OpenAPI cannot represent. */
export type Exported = { readonly document: JsonObject; readonly leftOut: readonly PolicyRoute[] }

/**
 * Describes an API from its policies alone, in the format of the gateway's own `/openapi.json`.
 * @param options.withKeys adds the keys that OpenAPI cannot express, under `x-scopegate`, so that an import creates the
 * same routes.
 */
export function exportOpenapi(
  set: Pick<PolicySet, 'gateway' | 'catalogue' | 'policies' | 'compiled'>,
  options: { readonly version: string; readonly withKeys: boolean },
): Exported {
  const { gateway, catalogue, policies, compiled } = set
  const shown = new Set<PolicyRoute>()
  const document = buildOpenapi({
    baseUrl: gateway.baseUrl,
    name: gateway.name,
    version: options.version,
    bundledAuthorizationServer: gateway.authorizationServer !== undefined,
    catalogue,
    routes: policies.routes,
    match: (method, path) => {
      const match = compiled.match(method, path)
      return match.kind === 'route' ? { ...match, route: match.route.policy } : match
    },
    sources: [],
    extend: (route) => {
      shown.add(route)
      const keys = options.withKeys ? routeKeys(route) : {}
      return Object.keys(keys).length === 0 ? {} : { 'x-scopegate': keys }
    },
  })
  return { document, leftOut: policies.routes.filter((one) => !shown.has(one)) }
}
