import { readImplication } from '../oauth/scope-implication.ts'
import { assertionKeysDocument } from './documents/assertion-keys.ts'
import { createOpenapiDocument } from './documents/openapi-document.ts'
import { protectedResourceDocument } from './documents/protected-resource.ts'
import { staticDocuments } from './documents/static-documents.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { openAssertionKeys } from './identity/assertion-keys.ts'
import { createAssertions } from './identity/assertions.ts'
import type { Metrics } from './observe/metrics.ts'
import type { LoadedPolicies } from './routes/load-policies.ts'
import type { Resources } from './routes/resources.ts'
import type { Snapshot } from './routes/route.ts'
import { buildRouteTable } from './routes/route-table.ts'
import { buildSnapshot } from './snapshot.ts'
import type { Upstream } from './upstreams/pool.ts'

/** The routes that are served, and what changes behind them: the upstreams' descriptions, and the keys of assertions. */
export type OpenedSnapshot = {
  readonly snapshot: Snapshot
  /** Asks the upstreams to describe themselves, and writes `/openapi.json` again. Never fails. */
  refresh(): Promise<void>
  close(): void
}

/**
 * Builds the snapshot of the policies, with everything its routes and documents need.
 * @throws {ConfigError} C306 when the file of the assertion keys is of no use.
 */
export function openSnapshot(
  options: GatewayOptions & {
    readonly policies: LoadedPolicies
    readonly resources: Resources
    readonly upstreams: ReadonlyMap<string, Upstream>
    readonly metrics: Metrics
    readonly version: string
  },
): OpenedSnapshot {
  const { config, logger, policies, resources, upstreams, metrics, version } = options
  const openapi = createOpenapiDocument({
    baseUrl: config.baseUrl,
    name: config.name,
    version,
    catalogue: config.catalogue,
    routes: policies.routes,
    match: buildRouteTable(policies.routes).match,
    upstreams: [...upstreams.values()],
    logger,
  })
  const assertionKeys = openAssertionKeys({
    ...config.assertion,
    sharedKey: options.assertionKey,
    nowMs: Date.now,
    logger,
  })
  const snapshot = buildSnapshot({
    policyRoutes: policies.routes,
    policyHash: policies.hash,
    upstreams,
    authorizationServer: config.authorizationServer?.upstream,
    documents: {
      ...staticDocuments(config, policies.routes, resources),
      openapi: openapi.document,
      assertionKeys: assertionKeysDocument(() => assertionKeys.ring.publishedKeys(Date.now())),
    },
    resources,
    resourceDocument: (resource) => {
      const document = protectedResourceDocument({
        ...config,
        resource,
        resources,
        routes: policies.routes,
        seesCertificates:
          config.clientCertificateHeader !== undefined || config.tls?.clientCertificates !== undefined,
      })
      return () => document
    },
    implication: readImplication(config.catalogue),
    bodyLimitBytes: config.limits.bodyBytes,
    assertFor: createAssertions({
      issuer: config.baseUrl,
      ttlSeconds: config.assertion.ttlSeconds,
      ring: assertionKeys.ring,
    }),
    routeMeter: metrics.route,
  })
  return {
    snapshot,
    refresh: openapi.refresh,
    close() {
      openapi.close()
      assertionKeys.close()
    },
  }
}
