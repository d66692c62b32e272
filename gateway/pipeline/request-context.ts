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

/** What is known about a request so far; the access log reads it when the response is closed. */
export type RequestContext = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly timeMs: number
  readonly startedMs: number
  readonly clientAddress: string
  /** The connection, when the client asks to turn it into a WebSocket. */
  readonly upgraded: UpgradedConnection | undefined
  token: string | undefined
  /** How the token was sent; what is refused is refused in those words. */
  credential: 'bearer' | 'dpop'
  /** What the request shows besides the token. */
  possessionProof: PossessionProof
  /** Names the policies that decide, where clients are told: name, value. */
  policyHeaders: readonly string[]
  /** The nonce that a client is to use next: name, value. */
  nonceHeaders: readonly string[]
  canonical: CanonicalRequest | undefined
  route: Route | undefined
  /** What a token must be for; that of the whole API until the route is known. */
  resource: Resource
  /** What the parameters of the route's path met. */
  params: Readonly<Record<string, string>>
  caller: Caller | undefined
  decision: Decision | undefined
  /** Where the caller stands, on a route with a rate limit. */
  rate: RateLimitState | undefined
  /** What it is told about that: name, value, name, value. */
  rateHeaders: readonly string[]
  refusal: Refusal | undefined
  /** The code of the error that made it impossible to validate the token. */
  failureCode: string | undefined
  /** What the policy would have refused it with, if it were enforced. */
  auditOnlyRefusal: Refusal | undefined
  forwarded: ForwardResult | undefined
  /** How the WebSocket session ended that came of it. */
  session: SessionEnd | undefined
}
