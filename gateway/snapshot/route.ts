import type { CompiledRoute } from '../../policy-engine/decide/compile-policies.ts'
import type { RateLimit } from '../../policy-engine/format/rate-limit.ts'
import type { HeaderSource } from '../../policy-engine/match/find-header.ts'
import type { Match } from '../../policy-engine/match/route-table.ts'
import type { OwnDocument } from '../discovery/discovery-document.ts'
import type { RouteMeter } from '../observability/route-meter.ts'
import type { ReceiveSecurityEvent } from '../tokens/revocation/event-receiver.ts'
import type { Assert } from '../upstream-identity/assertions.ts'
import type { Upstream } from '../upstreams/pool.ts'

type Common = {
  /** `policy/route`, or `scopegate/…` and `authorization-server/…` for the built-in ones. A metric label. */
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  readonly meter: RouteMeter
  /** The part of an access log line that never changes. */
  readonly logFields: string
}

/** Passes every stage: a policy says who may, and an upstream answers. */
export type ApiRoute = Common &
  CompiledRoute & {
    readonly kind: 'api'
    readonly upstream: Upstream
    /** undefined: nobody counts. */
    readonly rateLimit: RateLimit | undefined
    readonly timeoutMs: number
    readonly idleTimeoutMs: number
    readonly bodyLimitBytes: number
    /** Whether `Authorization` and `Cookie` reach the upstream. */
    readonly forwardsCredentials: boolean
    /** Whether a GET may become a WebSocket. */
    readonly websocket: boolean
    /** Signs who calls, where the policy asks for it. */
    readonly assert: Assert | undefined
  }

/** Belongs to the bundled authorization server, which asks for its own credentials: no token stages. */
export type AuthorizationServerRoute = Common & {
  readonly kind: 'authorization_server'
  /** The path that it is asked for; undefined: that of the request. */
  readonly asks: string | undefined
  readonly upstream: Upstream
  readonly timeoutMs: number
  readonly idleTimeoutMs: number
  readonly bodyLimitBytes: number
}

/** A document that the gateway answers with itself. */
export type DocumentRoute = Common & { readonly kind: 'document'; readonly document: OwnDocument }

/** Takes what issuers tell of their own accord: Security Event Tokens. RFC 8935. */
export type EventsRoute = Common & {
  readonly kind: 'events'
  readonly receive: ReceiveSecurityEvent
  readonly rateLimit: RateLimit
  readonly bodyLimitBytes: number
}

/** Everything that a path can lead to. One table holds all of it, so that no path is matched in two ways. */
export type Route = ApiRoute | AuthorizationServerRoute | DocumentRoute | EventsRoute

/** What one version of policies and configuration means, compiled once. Requests see exactly one. */
export type Snapshot = {
  readonly match: (method: string, path: string, request?: HeaderSource) => Match<Route>
  /** Returns the routes of a canonical path by their methods, whatever headers they require. */
  readonly routesAt: (path: string) => ReadonlyMap<string, readonly Route[]>
  readonly routes: readonly Route[]
  /** Whether there is a route that may become a WebSocket. */
  readonly hasWebsockets: boolean
  /** Identifies the policies it was built from. */
  readonly policyHash: string
  /** Tells clients which policies answered, where that is wanted: name, value; else nothing. */
  readonly policyHeaders: readonly string[]
}
