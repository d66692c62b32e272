import type { Resource } from '../../policy-engine/match/resource.ts'
import type { RateLimiter } from '../limits/open-rate-limiter.ts'
import type { OverloadReason } from '../limits/overload/overload-level.ts'
import type { AccessLog } from '../observability/access-log.ts'
import type { RouteMeter } from '../observability/route-meter.ts'
import type { TokenMeter } from '../observability/token-meter.ts'
import type { ForwardedHeader } from '../server/client-address.ts'
import type { TrustedProxies } from '../server/trusted-proxies.ts'
import type { Snapshot } from '../snapshot/route.ts'
import type { VerifyProofOptions } from '../tokens/binding/verify-dpop-proof.ts'
import type { TokenValidator } from '../tokens/cache/token-validator.ts'
import type { WebsocketSessions } from '../upstreams/websocket/sessions.ts'
import type { CertificateReaderOptions } from './client-certificate.ts'

/** Everything a request meets on its way that is not the request itself: I/O, clocks and rules. */
export type PipelineOptions = {
  /** Read once per request: each request sees exactly one. */
  readonly snapshot: () => Snapshot
  readonly verdicts: TokenValidator
  /** What DPoP proofs are held against. */
  readonly proofs: VerifyProofOptions
  /** Where client certificates come from. */
  readonly clientCertificates: Pick<CertificateReaderOptions, 'header' | 'listener'>
  readonly rateLimiter: Pick<RateLimiter, 'take'>
  /** The public address, without a trailing slash. */
  readonly baseUrl: string
  /** What tokens are for where no route says otherwise. */
  readonly rootResource: Resource
  readonly limits: { readonly targetBytes: number; readonly tokenBytes: number }
  readonly tokenMeter: TokenMeter
  /** Counts what meets no route. */
  readonly unmatchedMeter: RouteMeter
  readonly accessLog: AccessLog
  /** Logs the exception behind a response that names no reason. */
  readonly report: (event: string, requestId: string, error: unknown) => void
  /** Logs why an upstream gave no complete response. */
  readonly upstreamFailed: (upstream: string, requestId: string, error: unknown) => void
  /** Counts an exception that a request ended with. */
  readonly onBroken: () => void
  readonly newRequestId: () => string
  /** Peers that are believed about the client's address and the request's id; undefined: none. */
  readonly trustedProxies: TrustedProxies | undefined
  readonly forwardedHeader: ForwardedHeader
  /** Wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Open WebSockets. */
  readonly sessions: WebsocketSessions
  /** Whether there is too much to do: why requests are refused. */
  readonly overload: { readonly refusing: OverloadReason | undefined }
  /** Counts a request that is refused for that reason. */
  readonly onOverloaded: (reason: OverloadReason) => void
  /** While true, connections end with the answer that is being given. */
  readonly draining: () => boolean
}
