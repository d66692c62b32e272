import { protectedResourceMetadata } from '../../oauth/metadata.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { Resource, Resources } from '../../policy-engine/match/resources.ts'
import { type Representation, representation } from './discovery-document.ts'

export type ProtectedResourceOptions = {
  readonly resource: Resource
  readonly resources: Pick<Resources, 'ofTemplate'>
  readonly operatorCatalogue: ScopeCatalogue
  /** Whether the gateway receives client certificates, so that it accepts certificate-bound tokens. */
  readonly seesCertificates: boolean
  readonly routes: readonly Pick<PolicyRoute, 'path' | 'scopes'>[]
}

/** Creates the metadata of a protected resource. Source: RFC 9728 section 2. */
export function protectedResourceDocument(options: ProtectedResourceOptions): Representation {
  const { resource, seesCertificates } = options
  const scopes = resource.baselineScopes ?? readScopes(options)
  return representation(
    'application/json',
    JSON.stringify(protectedResourceMetadata({ ...resource, scopes, seesCertificates })),
  )
}

/**
 * Returns the read scopes that routes of the resource need, in the order of the catalogue. Many clients request every
 * scope of the metadata, so the metadata omits write scopes. Clients get write scopes from challenges
 * (docs/decisions/0023). The metadata also omits scopes of policy sources: an authorization server without such a scope
 * rejects the whole request.
 */
function readScopes({
  resource,
  resources,
  operatorCatalogue,
  routes,
}: ProtectedResourceOptions): readonly string[] {
  const needed = new Set(
    routes
      .filter(({ path }) => resources.ofTemplate(path).includes(resource))
      .flatMap(({ scopes }) => [...(scopes?.all ?? []), ...(scopes?.any ?? [])]),
  )
  return [...operatorCatalogue.values()]
    .filter(({ name, sensitivity }) => sensitivity === 'read' && needed.has(name))
    .map(({ name }) => name)
}
