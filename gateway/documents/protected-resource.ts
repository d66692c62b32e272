import { protectedResourceMetadata } from '../../oauth/metadata.ts'
import type { PolicyRoute } from '../routes/policy-route.ts'
import type { Resource } from '../routes/resource.ts'
import type { Resources } from '../routes/resources.ts'
import { type Representation, representation } from './own-document.ts'

/**
 * Writes the metadata of one resource. Its scopes are those that routes in it ask for, in the order of the catalogue; the
 * whole catalogue stands in the authorization server's metadata.
 * Source: RFC 9728 section 2.
 */
export function protectedResourceDocument(options: {
  readonly resource: Resource
  readonly resources: Pick<Resources, 'ofTemplate'>
  readonly catalogue: ReadonlyMap<string, unknown>
  /** Whether tokens that are bound to a client certificate can be used: there is where to see certificates. */
  readonly seesCertificates: boolean
  readonly routes: readonly Pick<PolicyRoute, 'path' | 'scopes'>[]
}): Representation {
  const { resource, resources, routes } = options
  const asked = new Set(
    routes
      .filter(({ path }) => resources.ofTemplate(path).includes(resource))
      .flatMap(({ scopes }) => [...(scopes?.all ?? []), ...(scopes?.any ?? [])]),
  )
  const scopes = [...options.catalogue.keys()].filter((scope) => asked.has(scope))
  return representation(
    'application/json',
    JSON.stringify(
      protectedResourceMetadata({ ...resource, scopes, seesCertificates: options.seesCertificates }),
    ),
  )
}
