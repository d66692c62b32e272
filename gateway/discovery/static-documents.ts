import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { apiCatalogDocument } from './api-catalog.ts'
import { authWalkthroughDocument } from './auth-md.ts'
import { type OwnDocument, writtenOnDemand } from './discovery-document.ts'
import { landingDocument } from './landing.ts'

/** Creates the documents that depend only on configuration and policies. */
export function staticDocuments(
  config: GatewayConfig,
  policies: { readonly routes: readonly PolicyRoute[]; readonly catalogue: ScopeCatalogue },
  resources: Resources,
): Readonly<Record<'landing' | 'apiCatalog' | 'authWalkthrough', OwnDocument>> {
  const { baseUrl, name, limits } = config
  return {
    landing: landingDocument(config),
    apiCatalog: apiCatalogDocument(config),
    authWalkthrough: writtenOnDemand(() =>
      authWalkthroughDocument({
        baseUrl,
        name,
        bundledAuthorizationServer: config.authorizationServer !== undefined,
        ...policies,
        resources,
        limits,
      }),
    ),
  }
}
