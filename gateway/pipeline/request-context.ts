import type { IncomingMessage, ServerResponse } from 'node:http'
import { readRequestId } from '../../platform/logging/request-id.ts'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'
import type { Span } from '../../platform/tracing/tracing.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import { NO_POSSESSION_PROOF, type PossessionProof } from '../../policy-engine/decide/confirmation.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import type { CanonicalRequest } from '../../policy-engine/match/canonical-request.ts'
import type { TargetRules } from '../../policy-engine/match/canonical-target.ts'
import type { Resource } from '../../policy-engine/match/resources.ts'
import type { Decision } from '../observability/decision.ts'
import { startRequestSpan } from '../observability/gateway-tracing.ts'
import { clientAddress } from '../server/client-address.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import type {
  AuthorizationServerRoute,
  DocumentRoute,
  ProxyRoute,
  Route,
  UnavailableSourceRoute,
} from '../snapshot/route.ts'
import type { EndableResponse, ForwardResult } from '../upstreams/forward-request.ts'
import type { SessionEnd } from '../upstreams/websocket/session.ts'
import type { CertificateReader } from './client-certificate.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { LocalReply } from './send-reply.ts'

/**
 * All state of one request. The stages fill the context. The access log reads the context when the response is closed.
 */
export type RequestContext = {
  readonly services: PipelineServices
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Changed only by the decision endpoint, to the method of the original request. */
  method: string
  readonly requestId: string
  /** Whether another proxy asks for a decision on the request. Set to false for a document request to the decision endpoint. */
  isDecision: boolean
  readonly timeMs: number
  readonly startedMs: number
  readonly clientAddress: string
  /** The connection of the request, if the client requests a WebSocket. */
  readonly upgraded: UpgradedConnection | undefined
  /** Server span of the request. Undefined without tracing. */
  readonly span: Span | undefined
  /** Client span of the forwarded request. */
  upstreamSpan: Span | undefined
  token: string | undefined
  /** Scheme of the token. A challenge uses the same scheme. */
  credential: 'bearer' | 'dpop'
  possessionProof: PossessionProof
  /** The policy header of the response, if the configuration enables this header: name, value. */
  policyHeaders: readonly string[]
  /** The DPoP nonce for the client's next proof: name, value. */
  nonceHeaders: readonly string[]
  canonical: CanonicalRequest | undefined
  /** The body, if the gateway has read the body to match a route. undefined: the gateway streams the body. */
  body: Buffer | undefined
  route: Route | undefined
  /** The resource that the audience of the token must include: the root resource until the route is known. */
  resource: Resource
  params: Readonly<Record<string, string>>
  caller: Caller | undefined
  decision: Decision | undefined
  /** State of the caller's rate limit, on a route with a rate limit. */
  rate: RateLimitState | undefined
  /** Rate limit headers of the response: name, value, name, value. */
  rateHeaders: readonly string[]
  /** Path of the upstream request, without the base path of the upstream. */
  upstreamPath: string | undefined
  /** Headers of the upstream request: name, value, name, value. */
  upstreamHeaders: string[] | undefined
  rejection: Rejection | undefined
  /** Status of a denial whose response has another status, because nginx supports only 401 and 403. */
  deniedStatus: number | undefined
  /** Code of the error that prevented token validation, or of an invalid WebSocket handshake of the upstream. */
  failureCode: string | undefined
  /** The denial that an enforced policy would have applied. */
  auditOnlyDenial: Rejection | undefined
  forwarded: ForwardResult | undefined
  session: SessionEnd | undefined
}

/** The context after the stage `canonicalize`. */
export type CanonicalContext = RequestContext & { canonical: CanonicalRequest }

/**
 * The context after the stage `matchRoute`. This stage itself replies to requests for documents and for unavailable
 * sources.
 */
export type MatchedContext = CanonicalContext & {
  readonly route: Exclude<Route, DocumentRoute | UnavailableSourceRoute>
}

/** The context after the stage `receiveEvent`. This stage itself replies to events. */
export type ForwardableContext = MatchedContext & { readonly route: ProxyRoute | AuthorizationServerRoute }

/** The context after the stage `shapeRequest`. */
export type ShapedContext = ForwardableContext & {
  readonly upstreamPath: string
  readonly upstreamHeaders: string[]
}

/** The response to the client. A response ends the pipeline; undefined: the next stage runs. */
export type StageResult = Rejection | LocalReply | undefined
export type Stage = (context: RequestContext) => StageResult | Promise<StageResult>

/** Data that all stages share: the options, and values that the pipeline creates once from the options. */
export type PipelineServices = PipelineOptions & {
  /** Whether the pipeline forwards allowed requests to upstreams. */
  readonly forwards: boolean
  /** The stages of each request, in order. */
  readonly stages: readonly Stage[]
  readonly responder: Responder
  readonly tracker: RequestTracker
  /** Rules for the request target, and for addresses in DPoP proofs. */
  readonly targetRules: Omit<TargetRules, 'method'>
  readonly certificateOf: CertificateReader
  /** `x-forwarded-host` and `x-forwarded-proto` of the base URL: name, value, name, value. */
  readonly fixedHeaders: readonly string[]
  /** Open event streams, so that a drain can end the streams. */
  readonly eventStreams: Set<EndableResponse>
}

/** Sends the responses that the gateway creates itself, and decides which responses close their connection. */
export type Responder = {
  readonly respond: (context: RequestContext, result: LocalReply | Rejection) => void
  readonly reject: (context: RequestContext, rejection: Rejection) => void
  /**
   * Handles an exception of one request. Other requests continue. The log contains the exception, the response does
   * not.
   */
  readonly fail500: (context: RequestContext, error: unknown) => void
  /** Handles an exception in a request without a context, and therefore without a request ID. */
  readonly fail500Early: (response: ServerResponse, error: unknown) => void
  /**
   * Returns whether the connection closes after the upstream's response. Call this function before the gateway sends
   * the response. If the connection closes, the gateway reads no further request from this connection. RFC 9112 section
   * 9.6.
   */
  readonly shouldClose: (context: RequestContext) => boolean
  /** Returns whether the request follows the final response of its connection. The gateway ignores such a request. */
  readonly isAfterFinalResponse: (request: IncomingMessage) => boolean
}

/**
 * Counts and logs each request exactly once. Counts a WebSocket request when its session opens, and logs the request
 * when its session ends.
 */
export type RequestTracker = {
  readonly inFlight: number
  /** Counts the request as in flight until its response is closed. */
  start(context: RequestContext): void
  /**
   * Counts the request as finished. The log entry follows when the session ends. The caller must first remove the
   * listeners from the response.
   */
  becameSession(context: RequestContext): void
  sessionEnded(context: RequestContext, end: SessionEnd): void
}

const NO_HEADERS: readonly string[] = []
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

/**
 * Starts the context of a request: time, request ID and client address. Request ID and address come from the headers of
 * the peer only if the peer is a trusted proxy.
 */
export function createContext(
  services: PipelineServices,
  request: IncomingMessage,
  response: ServerResponse,
  upgraded: UpgradedConnection | undefined,
): RequestContext {
  const { rootResource, trustedProxies, newRequestId, tracing } = services
  const peer = normalizeIp(request.socket.remoteAddress)
  const isProxied = trustedProxies?.has(peer) === true
  return {
    services,
    request,
    response,
    method: request.method ?? '',
    requestId: (isProxied ? readRequestId(request) : undefined) ?? newRequestId(),
    isDecision: services.decisionProtocol !== undefined,
    timeMs: services.nowMs(),
    startedMs: services.tickMs(),
    clientAddress: isProxied ? addressBehind(peer, request, services) : peer,
    upgraded,
    span: tracing === undefined ? undefined : startRequestSpan(tracing, request, isProxied),
    upstreamSpan: undefined,
    token: undefined,
    credential: 'bearer',
    possessionProof: NO_POSSESSION_PROOF,
    policyHeaders: NO_HEADERS,
    nonceHeaders: NO_HEADERS,
    canonical: undefined,
    body: undefined,
    route: undefined,
    resource: rootResource,
    params: NO_PARAMS,
    caller: undefined,
    decision: undefined,
    rate: undefined,
    rateHeaders: NO_HEADERS,
    upstreamPath: undefined,
    upstreamHeaders: undefined,
    rejection: undefined,
    deniedStatus: undefined,
    failureCode: undefined,
    auditOnlyDenial: undefined,
    forwarded: undefined,
    session: undefined,
  }
}

function addressBehind(
  peer: string,
  request: IncomingMessage,
  { forwardedHeader, trustedProxies }: Pick<PipelineOptions, 'forwardedHeader' | 'trustedProxies'>,
): string {
  const value = request.headers[forwardedHeader]
  if (typeof value !== 'string' || trustedProxies === undefined) return peer
  return clientAddress(peer, value, { header: forwardedHeader, trusted: trustedProxies })
}
