import { protectedResourceMetadata } from '../../oauth/metadata.ts'
import { neededScopes } from '../routes/needed-scopes.ts'
import type { PolicyRoute } from '../routes/policy-route.ts'
import { type Representation, representation } from './own-document.ts'

/**
 * Writes `/.well-known/oauth-protected-resource`. Its scopes are those that mounted routes ask for, in the order of
 * the catalogue; the whole catalogue stands in the authorization server's metadata.
 * Source: RFC 9728 section 2.
 */
export function protectedResourceDocument(options: {
  readonly baseUrl: string
  readonly name: string
  readonly issuers: readonly string[]
  readonly catalogue: ReadonlyMap<string, unknown>
  readonly routes: readonly Pick<PolicyRoute, 'scopes'>[]
}): Representation {
  const asked = new Set(
    options.routes.flatMap((route) => [...neededScopes(route.scopes), ...(route.scopes?.any ?? [])]),
  )
  const metadata = protectedResourceMetadata({
    baseUrl: options.baseUrl,
    issuers: options.issuers,
    scopes: [...options.catalogue.keys()].filter((scope) => asked.has(scope)),
    name: options.name,
  })
  return representation('application/json', JSON.stringify(metadata))
}
