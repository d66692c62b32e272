import type { GatewayConfig } from '../config/gateway-config.ts'
import type { PolicyRoute } from '../routes/policy-route.ts'
import type { Resources } from '../routes/resources.ts'
import { authWalkthroughDocument } from './auth-md.ts'
import { landingDocument } from './landing.ts'
import type { OwnDocument } from './own-document.ts'

/** Writes the documents that follow from configuration and policies alone. */
export function staticDocuments(
  config: GatewayConfig,
  routes: readonly PolicyRoute[],
  resources: Resources,
): Readonly<Record<'landing' | 'authWalkthrough', OwnDocument>> {
  const { baseUrl, name, catalogue, limits } = config
  const authWalkthrough = authWalkthroughDocument({
    baseUrl,
    name,
    // The walkthrough shows one sign-in: that of the first issuer.
    issuer: config.issuers[0]?.issuer ?? baseUrl,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    catalogue,
    routes,
    resources,
    limits,
  })
  return {
    landing: landingDocument(config),
    authWalkthrough: () => authWalkthrough,
  }
}
