import { readImplication } from '../../oauth/scope.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import type { FailureLog } from '../../platform/logging/failure-log.ts'
import { unavailableRoute } from '../../policy-engine/decide/compile-policies.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { metadataAliases } from '../../policy-engine/match/authorization-server-routes.ts'
import { findFreePages, NO_PAGES } from '../../policy-engine/match/free-pages.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { Match } from '../../policy-engine/match/route-table.ts'
import { assertionKeysDocument } from '../discovery/assertion-keys.ts'
import { createLazily } from '../discovery/discovery-document.ts'
import { createOpenapiDocuments } from '../discovery/openapi-document.ts'
import { protectedResourceDocument } from '../discovery/protected-resource.ts'
import { staticDocuments } from '../discovery/static-documents.ts'
import type { GatewayOptions } from '../gateway-options.ts'
import type { Metrics } from '../observability/metrics.ts'
import { referencePage } from '../pages/reference-page.ts'
import type { ReceiveSecurityEvent } from '../tokens/revocation/event-receiver.ts'
import { openAssertionKeys } from '../upstream-identity/assertion-keys.ts'
import { createAssertions } from '../upstream-identity/assertions.ts'
import { createClaimHeaders } from '../upstream-identity/identity-claims.ts'
import type { UpstreamRegistry } from '../upstreams/upstream-registry.ts'
import type { CheckedPolicies } from './reload/check-sources.ts'
import type { Route, Snapshot } from './route.ts'
import { buildSnapshot } from './snapshot.ts'

export type SnapshotFactory = {
  build(policies: CheckedPolicies): Steps<Snapshot>
  /** Fetches the OpenAPI descriptions of the upstreams for `/openapi.json`. Never rejects. */
  refresh(): Promise<void>
  close(): void
}

/**
 * Opens the resources that snapshots share: descriptions of the upstreams, and assertion keys.
 * @throws {ConfigError} C306 when the file of the assertion keys is not usable.
 */
export function createSnapshotFactory(
  options: GatewayOptions & {
    readonly resources: Resources
    readonly upstreams: UpstreamRegistry
    readonly metrics: Metrics
    readonly version: string
    readonly receiveEvent: ReceiveSecurityEvent | undefined
    readonly failures: FailureLog
    readonly tickMs: () => number
  },
): SnapshotFactory {
  const { config, logger, resources, upstreams, metrics, version } = options
  const openapi = createOpenapiDocuments({
    baseUrl: config.baseUrl,
    name: config.name,
    version,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    upstreams,
    failures: options.failures,
    tickMs: options.tickMs,
  })
  const assertionKeys = openAssertionKeys({
    ...config.assertion,
    sharedKey: options.assertionKey,
    nowMs: Date.now,
    logger,
  })
  const assertionKeysJson = assertionKeysDocument(() => assertionKeys.ring.publishedKeys(Date.now()))
  const assertionsFor = createAssertions({
    issuer: config.baseUrl,
    ttlSeconds: config.assertion.ttlSeconds,
    claims: config.identity.claims,
    ring: assertionKeys.ring,
  })
  const claimHeaders = createClaimHeaders(config.identity.claims)
  const seesCertificates =
    config.clientCertificateHeader !== undefined || config.tls?.clientCertificates !== undefined

  const referenceSettings = {
    apiName: config.name,
    baseUrl: config.baseUrl,
    resources,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    clientId: config.docs.clientId,
  }

  function* build(policies: CheckedPolicies): Steps<Snapshot> {
    const { routes, catalogue, operatorCatalogue, hash, unavailable } = policies
    const description = openapi.of({
      routes,
      catalogue,
      match: (method, path) => policyOf(snapshot.match(method, path)),
    })
    const pages = config.docs.enabled
      ? findFreePages([...routes, ...unavailable.map(unavailableRoute)].map(({ path }) => path))
      : NO_PAGES
    const snapshot: Snapshot = yield* buildSnapshot({
      policyRoutes: routes,
      unavailable,
      policyHash: hash,
      exposesPolicyHash: config.debug.policyHeader,
      upstreams: upstreams.prepare(policies.upstreams),
      authorizationServer: config.authorizationServer?.upstream,
      authorizationServerAliases: config.compat.resourcePathAliases
        ? metadataAliases(resources.all, config.baseUrl)
        : [],
      documents: {
        ...staticDocuments(config, policies, { resources, pages }),
        openapi: description.json,
        reference: description.derive((document) =>
          referencePage({
            ...referenceSettings,
            scopes: [...operatorCatalogue.values()],
            openapi: document,
          }),
        ),
        assertionKeys: assertionKeysJson,
      },
      pages,
      resources,
      resourceDocument: (resource) =>
        createLazily(() =>
          protectedResourceDocument({ resource, resources, routes, operatorCatalogue, seesCertificates }),
        ),
      implication: readImplication(catalogue),
      bodyLimitBytes: config.limits.bodyBytes,
      assertionsFor,
      identityClaims: config.identity.claims,
      claimHeaders,
      receiveEvent: options.receiveEvent,
      routeMeter: metrics.route,
    })
    return snapshot
  }

  return {
    build,
    refresh: openapi.refresh,
    close() {
      openapi.close()
      assertionKeys.close()
    },
  }
}

/** Excludes the gateway's documents and the authorization server from `/openapi.json`. */
function policyOf(match: Match<Route>): Match<PolicyRoute> {
  if (match.kind !== 'route') return match
  return match.route.kind === 'api' ? { ...match, route: match.route.policy } : { kind: 'not_found' }
}
