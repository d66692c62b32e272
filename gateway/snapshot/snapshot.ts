import { MAX_JWT_LENGTH } from '../../oauth/jwt/read-jwt-parts.ts'
import type { ScopeImplication } from '../../oauth/scope.ts'
import type { Steps } from '../../platform/diagnostics/run-sliced.ts'
import { bodyLimitOf } from '../../policy-engine/decide/check-limits.ts'
import { claimNamesOf, compileRoute, unavailableRoute } from '../../policy-engine/decide/compile-policies.ts'
import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import { compileRateLimit, compileSharedLimit } from '../../policy-engine/format/rate-limit.ts'
import type { UnavailablePrefix } from '../../policy-engine/load/load-policy-sources.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import {
  AUTHORIZATION_SERVER_PATHS,
  type AuthorizationServerPath,
} from '../../policy-engine/match/authorization-server-routes.ts'
import {
  ERROR_TEMPLATE,
  ERRORS_PATH,
  type FreePages,
  LLMS_PATH,
  REFERENCE_PATH,
  SIGNED_IN_PATH,
} from '../../policy-engine/match/free-pages.ts'
import type { Resource, Resources } from '../../policy-engine/match/resources.ts'
import { buildRouteTableSliced } from '../../policy-engine/match/route-table.ts'
import { ASSERTION_KEYS_PATH } from '../discovery/assertion-keys.ts'
import { createLazily, type GatewayDocument, redirect } from '../discovery/discovery-document.ts'
import { API_CATALOG_PATH } from '../discovery/static-documents.ts'
import { accessLogFields, scopesOf } from '../observability/access-log.ts'
import { memoize } from '../observability/memoize.ts'
import type { RouteMeter } from '../observability/route-meter.ts'
import type { ReceiveSecurityEvent } from '../tokens/revocation/event-receiver.ts'
import type { CreateAssertion } from '../upstream-identity/assertions.ts'
import type { ClaimHeaders } from '../upstream-identity/identity-claims.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Route, Snapshot } from './route.ts'

/** Number of routes per step. A step takes some hundred microseconds. */
const STEP_ROUTES = 32
/** Policies cannot define this path, because the path is below a reserved path. */
const SECURITY_EVENTS_PATH = '/.well-known/scopegate/security-events'
/** Rate limit for events. Issuers send bursts of events, and each event can require a signature check. */
const EVENTS_PER_ADDRESS = { requests: 600, perMs: 60_000, by: 'ip' } as const
const POLICY_HEADER = 'x-scopegate-policy'

/** Options for `buildSnapshot()`. `bodyLimitBytes` is the default for routes without a body limit. */
export type SnapshotOptions = {
  readonly policyRoutes: readonly PolicyRoute[]
  /** Prefixes of policy sources without valid policies. */
  readonly unavailable: readonly UnavailablePrefix[]
  readonly policyHash: string
  readonly exposesPolicyHash: boolean
  readonly upstreams: ReadonlyMap<string, Upstream>
  /** Name of the bundled authorization server among the upstreams. */
  readonly authorizationServer: string | undefined
  readonly authorizationServerAliases: readonly AuthorizationServerPath[]
  readonly documents: {
    readonly landing: GatewayDocument
    readonly apiCatalog: GatewayDocument
    readonly openapi: GatewayDocument
    readonly authWalkthrough: GatewayDocument
    readonly assertionKeys: GatewayDocument
    readonly reference: GatewayDocument
    readonly signedIn: GatewayDocument
    readonly errorIndex: GatewayDocument
    readonly error: GatewayDocument
    readonly errorRedirect: GatewayDocument
    readonly llms: GatewayDocument
  }
  /** The pages that the gateway serves. */
  readonly pages: FreePages
  /** Receives Security Event Tokens; undefined: no issuer may send Security Event Tokens. */
  readonly receiveEvent: ReceiveSecurityEvent | undefined
  readonly resources: Resources
  readonly resourceDocument: (resource: Resource) => GatewayDocument
  readonly implication: ScopeImplication
  readonly bodyLimitBytes: number
  /** Returns the signer of assertions for an upstream. */
  readonly assertionsFor: (upstream: string) => CreateAssertion
  /** The setting `identity.claims`, and the headers with these claims. */
  readonly identityClaims: ClaimNames
  readonly claimHeaders: ClaimHeaders | undefined
  readonly routeMeter: (name: string) => RouteMeter
}

/**
 * Compiles policies and configuration into one route table. The function computes in advance all route data that
 * requests need. Each step handles a few routes.
 * @throws {Error} when a route names an unknown upstream. `loadPolicies` reports this error earlier.
 */
export function* buildSnapshot(options: SnapshotOptions): Steps<Snapshot> {
  const api = yield* apiRoutes(options)
  const routes = [
    ...documentRoutes(options),
    ...authorizationServerRoutes(options),
    ...eventRoutes(options),
    ...unavailableRoutes(options),
    ...api,
  ]
  const table = yield* buildRouteTableSliced(routes)
  return Object.freeze({
    routes: Object.freeze(routes),
    policyHash: options.policyHash,
    policyHeaders: Object.freeze(options.exposesPolicyHash ? [POLICY_HEADER, shortHash(options)] : []),
    hasWebsockets: options.policyRoutes.some((route) => route.websocket),
    routesAt: table.routesAt,
    match: table.match,
    mcpRoutes: table.mcpRoutes,
  })
}

function documentRoutes(options: SnapshotOptions): readonly Route[] {
  const { landing, apiCatalog, openapi, authWalkthrough, assertionKeys } = options.documents
  const documents = [
    ['landing', '/', landing],
    ['api-catalog', API_CATALOG_PATH, apiCatalog],
    ['openapi', '/openapi.json', openapi],
    ['auth-walkthrough', '/auth.md', authWalkthrough],
    ['assertion-keys', ASSERTION_KEYS_PATH, assertionKeys],
    ...(options.pages.reference
      ? ([
          ['docs', REFERENCE_PATH, options.documents.reference],
          ['signed-in', SIGNED_IN_PATH, options.documents.signedIn],
          ['errors', ERRORS_PATH, options.documents.errorIndex],
          ['error', ERROR_TEMPLATE, options.documents.error],
          ...[REFERENCE_PATH, ERRORS_PATH].map(
            (page) => [`redirect${page}`, `${page}/`, createLazily(() => redirect(page))] as const,
          ),
          ['error-redirect', `${ERROR_TEMPLATE}/`, options.documents.errorRedirect],
        ] as const)
      : []),
    ...(options.pages.llms ? ([['llms', LLMS_PATH, options.documents.llms]] as const) : []),
  ] as const
  const resources = options.resources.all.map(
    (resource) =>
      [
        `protected-resource${resource.path}`,
        resource.metadataPath,
        options.resourceDocument(resource),
      ] as const,
  )
  return [...documents, ...resources].map(([shortName, path, document]) => {
    const name = `scopegate/${shortName}`
    return { kind: 'document', ...common(options, name, ['GET'], path), document }
  })
}

function authorizationServerRoutes(options: SnapshotOptions): readonly Route[] {
  if (options.authorizationServer === undefined) return []
  const upstream = upstreamOf(options, options.authorizationServer)
  const paths = [...AUTHORIZATION_SERVER_PATHS, ...options.authorizationServerAliases]
  return paths.map(({ name, methods, path, upstreamPath }) => ({
    kind: 'authorization_server',
    ...common(options, `authorization-server/${name}`, methods, path, upstream),
    upstreamPath,
    upstream,
    timeoutMs: upstream.timeoutMs,
    idleTimeoutMs: upstream.idleTimeoutMs,
    bodyLimitBytes: options.bodyLimitBytes,
  }))
}

function eventRoutes(options: SnapshotOptions): readonly Route[] {
  const { receiveEvent } = options
  if (receiveEvent === undefined) return []
  const name = 'scopegate/security-events'
  const rateLimit = compileRateLimit(name, EVENTS_PER_ADDRESS)
  const own = common(options, name, ['POST'], SECURITY_EVENTS_PATH)
  return [{ kind: 'events', ...own, receive: receiveEvent, rateLimit, bodyLimitBytes: MAX_JWT_LENGTH }]
}

function unavailableRoutes(options: SnapshotOptions): readonly Route[] {
  return options.unavailable.map((one) => {
    const route = unavailableRoute(one)
    const name = `scopegate/unavailable/${one.source}`
    return {
      kind: 'unavailable',
      ...common(options, name, route.methods, route.path),
      ...route,
      source: one.source,
    }
  })
}

function* apiRoutes(options: SnapshotOptions): Steps<readonly Route[]> {
  const names = unionOf(claimNamesOf(options.policyRoutes), options.identityClaims)
  const routes: Route[] = []
  const compiledLimit = memoize(compileSharedLimit)
  for (const policy of options.policyRoutes) {
    if (routes.length % STEP_ROUTES === 0) yield
    const upstream = policy.upstream === undefined ? undefined : upstreamOf(options, policy.upstream)
    const compiled = compileRoute(policy, { ...options, names })
    const own = policy.rateLimit === undefined ? undefined : compileRateLimit(policy.name, policy.rateLimit)
    routes.push({
      kind: 'api',
      ...common(options, policy.name, policy.methods, policy.path, upstream, compiled.access.scopes?.needed),
      ...compiled,
      upstream,
      rateLimit:
        policy.sharedLimits === undefined ? own : { own, shared: policy.sharedLimits.map(compiledLimit) },
      timeoutMs: policy.timeoutMs ?? upstream?.timeoutMs ?? 0,
      idleTimeoutMs: policy.idleTimeoutMs ?? upstream?.idleTimeoutMs ?? 0,
      bodyLimitBytes: bodyLimitOf(policy, options.bodyLimitBytes),
      forwardsCredentials: policy.upstreamAuth === 'forward',
      assert:
        policy.upstreamAuth === 'assertion' && upstream !== undefined
          ? options.assertionsFor(upstream.name)
          : undefined,
      claimHeaders: options.claimHeaders,
      websocket: policy.websocket,
    })
  }
  return routes
}

function unionOf(names: ClaimNames, more: ClaimNames): ClaimNames {
  return more.length === 0 ? names : Object.freeze([...new Set([...names, ...more])].sort())
}

function common(
  options: SnapshotOptions,
  name: string,
  methods: readonly string[],
  path: string,
  upstream?: Upstream,
  scopesRequired: readonly string[] = [],
) {
  return {
    name,
    methods,
    path,
    meter: options.routeMeter(name),
    logFields: accessLogFields({
      'http.route': path,
      route: name,
      upstream: upstream?.name,
      'policy.hash': shortHash(options),
      'auth.scopes_required': scopesOf(scopesRequired),
    }),
  }
}

/** Returns the first 12 characters of the hash, which are enough to distinguish policy versions. */
function shortHash({ policyHash }: SnapshotOptions): string {
  return policyHash.slice(0, 12)
}

function upstreamOf(options: SnapshotOptions, name: string): Upstream {
  const upstream = options.upstreams.get(name)
  if (upstream === undefined) throw new Error(`unknown upstream "${name}"`)
  return upstream
}
