import type { CompiledRoute, UnavailableRoute } from '../../policy-engine/decide/compile-policies.ts'
import type { RateLimit, RouteLimits } from '../../policy-engine/format/rate-limit.ts'
import type { HeaderSource } from '../../policy-engine/match/find-header.ts'
import type { Match } from '../../policy-engine/match/route-table.ts'
import type { GatewayDocument } from '../discovery/discovery-document.ts'
import type { RouteMeter } from '../observability/route-meter.ts'
import type { ReceiveSecurityEvent } from '../tokens/revocation/event-receiver.ts'
import type { CreateAssertion } from '../upstream-identity/assertions.ts'
import type { ClaimHeaders } from '../upstream-identity/identity-claims.ts'
import type { Upstream } from '../upstreams/upstream.ts'

type Common = {
  /** `policy/route`; `scopegate/…` or `authorization-server/…` for built-in routes. A metric label. */
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  readonly meter: RouteMeter
  /** Constant fields of an access log line. */
  readonly logFields: string
}

/** A route of a policy, which passes every stage of the pipeline. */
export type ApiRoute = Common &
  CompiledRoute & {
    readonly kind: 'api'
    /** undefined: only the decision endpoint serves the route. */
    readonly upstream: Upstream | undefined
    /** One field for all limits, so that a route without limits needs one comparison for each request. */
    readonly rateLimit: RateLimit | RouteLimits | undefined
    readonly timeoutMs: number
    readonly idleTimeoutMs: number
    readonly bodyLimitBytes: number
    /** Whether the upstream receives `Authorization` and `Cookie`. */
    readonly forwardsCredentials: boolean
    /** Whether a GET request may open a WebSocket. */
    readonly websocket: boolean
    /** Signs an assertion about the caller, if the policy requires an assertion. */
    readonly assert: CreateAssertion | undefined
    /** Returns headers with claims of the caller, if `identity.claims` is set. */
    readonly claimHeaders: ClaimHeaders | undefined
  }

/** A route whose requests the gateway can forward. */
export type ProxyRoute = ApiRoute & { readonly upstream: Upstream }

/**
 * A route of the bundled authorization server. Requests to this route skip the token stages, because the authorization
 * server validates its own credentials.
 */
export type AuthorizationServerRoute = Common & {
  readonly kind: 'authorization_server'
  /** The upstream path; undefined: the path of the request. */
  readonly upstreamPath: string | undefined
  readonly upstream: Upstream
  readonly timeoutMs: number
  readonly idleTimeoutMs: number
  readonly bodyLimitBytes: number
}

export type DocumentRoute = Common & { readonly kind: 'document'; readonly document: GatewayDocument }

/** The paths of a policy source without valid policies. The response to requests for these paths is 503. */
export type UnavailableSourceRoute = Common &
  UnavailableRoute & { readonly kind: 'unavailable'; readonly source: string }

/** Receives Security Event Tokens from issuers. RFC 8935. */
export type EventsRoute = Common & {
  readonly kind: 'events'
  readonly receive: ReceiveSecurityEvent
  readonly rateLimit: RateLimit
  readonly bodyLimitBytes: number
}

/** All kinds of routes. One table holds the routes of all kinds, so that the same rules match every path. */
export type Route = ApiRoute | AuthorizationServerRoute | DocumentRoute | EventsRoute | UnavailableSourceRoute

/** The compiled form of one version of policies and configuration. Each request uses exactly one snapshot. */
export type Snapshot = {
  readonly match: (method: string, path: string, request?: HeaderSource) => Match<Route>
  /** Returns the routes of a canonical path by method, including routes that require certain headers. */
  readonly routesAt: (path: string) => ReadonlyMap<string, readonly Route[]>
  /** Returns the routes of a path whose requests match by the MCP call in the body. undefined for other requests. */
  readonly mcpRoutes: (method: string, path: string) => readonly Route[] | undefined
  readonly routes: readonly Route[]
  readonly hasWebsockets: boolean
  /** Hash of the policies from which this snapshot was compiled. */
  readonly policyHash: string
  /** Policy header of a response: name, value. Empty if the configuration does not enable this header. */
  readonly policyHeaders: readonly string[]
}
