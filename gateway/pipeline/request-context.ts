import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { PossessionProof } from '../../policy-engine/decide/possession-proof.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import type { RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import type { Resource } from '../../policy-engine/match/resource.ts'
import type { Decision } from '../observability/decision.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type { Route } from '../snapshot/route.ts'
import type { ForwardResult } from '../upstreams/forward-request.ts'
import type { SessionEnd } from '../upstreams/websocket/session.ts'
import type { CanonicalRequest } from './canonical-request.ts'

/** All state of one request. The stages fill it; the access log reads it when the response is closed. */
export type RequestContext = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly timeMs: number
  readonly startedMs: number
  readonly clientAddress: string
  /** The connection, if the client asks to upgrade it to a WebSocket. */
  readonly upgraded: UpgradedConnection | undefined
  token: string | undefined
  /** Scheme of the token. A challenge uses the same scheme. */
  credential: 'bearer' | 'dpop'
  /** Proof of possession: DPoP key or client certificate. */
  possessionProof: PossessionProof
  /** Names the active policies in the response, if the configuration exposes them: name, value. */
  policyHeaders: readonly string[]
  /** The DPoP nonce for the client's next proof: name, value. */
  nonceHeaders: readonly string[]
  canonical: CanonicalRequest | undefined
  route: Route | undefined
  /** The resource that the token must be meant for: the root resource until the route is known. */
  resource: Resource
  params: Readonly<Record<string, string>>
  caller: Caller | undefined
  decision: Decision | undefined
  /** State of the caller's rate limit, on a route that has one. */
  rate: RateLimitState | undefined
  /** Rate limit headers of the response: name, value, name, value. */
  rateHeaders: readonly string[]
  refusal: Refusal | undefined
  /** Code of the error that prevented token validation. */
  failureCode: string | undefined
  /** The refusal that an enforced policy would have applied. */
  auditOnlyRefusal: Refusal | undefined
  forwarded: ForwardResult | undefined
  session: SessionEnd | undefined
}
