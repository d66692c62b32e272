import type { GatewayConfig } from '../config/gateway-config.ts'
import type { PolicyRoute } from '../routes/policy-route.ts'
import { authWalkthroughDocument } from './auth-md.ts'
import { landingDocument } from './landing.ts'
import type { OwnDocument } from './own-document.ts'
import { protectedResourceDocument } from './protected-resource.ts'

/** Writes the documents that follow from configuration and policies alone. */
export function staticDocuments(
  config: GatewayConfig,
  routes: readonly PolicyRoute[],
): Readonly<Record<'landing' | 'protectedResource' | 'authWalkthrough', OwnDocument>> {
  const { baseUrl, name, catalogue, limits } = config
  const issuers = config.issuers.map(({ issuer }) => issuer)
  const protectedResource = protectedResourceDocument({ baseUrl, name, issuers, catalogue, routes })
  const authWalkthrough = authWalkthroughDocument({
    baseUrl,
    name,
    // The walkthrough shows one sign-in: that of the first issuer.
    issuer: issuers[0] ?? baseUrl,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    catalogue,
    routes,
    limits,
  })
  return {
    landing: landingDocument(config),
    protectedResource: () => protectedResource,
    authWalkthrough: () => authWalkthrough,
  }
}
