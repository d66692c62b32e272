import type { Resource } from '../../policy-engine/match/resources.ts'
import type { DecisionHeaders, DecisionProtocol } from '../config/gateway-config.ts'
import type { RateLimiter } from '../limits/open-rate-limiter.ts'
import type { OverloadReason } from '../limits/overload/overload-level.ts'
import type { AccessLog } from '../observability/access-log.ts'
import type { DecisionRecorder } from '../observability/decision-recorder.ts'
import type { GatewayTracing } from '../observability/gateway-tracing.ts'
import type { RouteMeter } from '../observability/route-meter.ts'
import type { TokenMeter } from '../observability/token-meter.ts'
import type { ForwardedHeader, TrustedProxies } from '../server/client-address.ts'
import type { Snapshot } from '../snapshot/route.ts'
import type { VerifyProofOptions } from '../tokens/binding/verify-dpop-proof.ts'
import type { TokenValidator } from '../tokens/cache/token-validator.ts'
import type { WebsocketSessions } from '../upstreams/websocket/sessions.ts'
import type { CertificateReaderOptions } from './client-certificate.ts'

/** Options for `createPipeline()`: I/O, clocks and rules that all requests share. */
export type PipelineOptions = {
  /** Returns the active snapshot. Called once per request, so that each request uses one snapshot. */
  readonly snapshot: () => Snapshot
  readonly tokenValidator: TokenValidator
  readonly proofs: VerifyProofOptions
  readonly clientCertificates: Pick<CertificateReaderOptions, 'header' | 'listener'>
  readonly rateLimiter: Pick<RateLimiter, 'take' | 'denialOf'>
  /** The public base URL, without a trailing slash. */
  readonly baseUrl: string
  /** The resource of requests to paths without a more specific resource. */
  readonly rootResource: Resource
  readonly limits: { readonly targetBytes: number; readonly tokenBytes: number }
  readonly tokenMeter: TokenMeter
  readonly unmatchedMeter: RouteMeter
  readonly accessLog: AccessLog
  /** Undefined without a console. */
  readonly decisionRecorder: DecisionRecorder | undefined
  /** Undefined: the gateway records no spans. */
  readonly tracing: GatewayTracing | undefined
  /** Logs the exception that caused a response. The response does not contain the exception. */
  readonly report: (
    event: string,
    requestId: string,
    clientAddress: string | undefined,
    error: unknown,
  ) => void
  /** Logs the reason why an upstream did not send a complete response. */
  readonly upstreamFailed: (upstream: string, requestId: string, error: unknown) => void
  readonly onBroken: () => void
  readonly newRequestId: () => string
  /** Peers whose headers for client address and request ID are used; undefined: no peer is trusted. */
  readonly trustedProxies: TrustedProxies | undefined
  readonly forwardedHeader: ForwardedHeader
  readonly nowMs: () => number
  readonly tickMs: () => number
  readonly sessions: WebsocketSessions
  /** The reason to reject requests during overload. If undefined, the gateway accepts requests. */
  readonly overload: { readonly rejecting: OverloadReason | undefined }
  readonly onOverloaded: (reason: OverloadReason) => void
  /** While true, each connection closes after its current response. */
  readonly draining: () => boolean
  /** Set for the decision endpoint. Undefined: the pipeline forwards requests. */
  readonly decisionProtocol?: DecisionProtocol | undefined
  readonly decisionHeaders?: DecisionHeaders | undefined
}
