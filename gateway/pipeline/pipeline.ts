import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DecisionHeaders, DecisionProtocol } from '../config/gateway-config.ts'
import type { UpgradedConnection } from '../server/upgraded-connection.ts'
import { createCertificateReader } from './client-certificate.ts'
import { createCanonicalizeOriginal, decidableOnly, replyAllowed } from './decision-endpoint.ts'
import { createHandOver, type HandOver } from './hand-over.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import {
  createContext,
  type PipelineServices,
  type RequestContext,
  type Stage,
  type StageResult,
} from './request-context.ts'
import { createRequestTracker } from './request-tracker.ts'
import { createResponder } from './responder.ts'
import { addCredential } from './stages/add-credential.ts'
import { canonicalize } from './stages/canonicalize.ts'
import { decide } from './stages/decide.ts'
import { enforceLimits } from './stages/enforce-limits.ts'
import { forward } from './stages/forward.ts'
import { matchRoute } from './stages/match-route.ts'
import { readMcpCall } from './stages/read-mcp-call.ts'
import { readToken } from './stages/read-token.ts'
import { receiveEvent } from './stages/receive-event.ts'
import { rejectOverload } from './stages/reject-overload.ts'
import { shapeRequest } from './stages/shape-request.ts'
import { validateToken } from './stages/validate-token.ts'
import { verifyPossession } from './stages/verify-possession.ts'

export type Pipeline = {
  /**
   * Handles a request. `upgraded` is the connection of the request if the request is a WebSocket handshake. Never
   * throws.
   */
  handle(request: IncomingMessage, response: ServerResponse, upgraded?: UpgradedConnection): void
  readonly inFlight: number
  /** Ends event streams, which would otherwise stay open. The clients of the streams reconnect to another process. */
  endStreams(): void
}

/**
 * The stages of a request, in order. Each stage is one file, which states the fields of the context that the stage
 * reads and sets. The parameter type of a stage requires the fields that earlier stages have set. Only the order of
 * this list guarantees that these fields are set, so the list has one type assertion. A stage returns immediately for a
 * kind of route to which the stage does not apply. For the command line, `policy-engine/decide/decide.ts` calls the
 * same functions of the policy engine in the same order.
 */
const STAGES = [
  canonicalize,
  rejectOverload,
  readMcpCall,
  matchRoute,
  readToken,
  validateToken,
  verifyPossession,
  decide,
  enforceLimits,
  receiveEvent,
  shapeRequest,
  addCredential,
  forward,
] as readonly Stage[]

/** The stages of the decision endpoint: the same decision, for a request that another proxy forwards. */
function decisionStages(protocol: DecisionProtocol, headers: DecisionHeaders | undefined): readonly Stage[] {
  return [
    createCanonicalizeOriginal(protocol, headers),
    rejectOverload,
    readMcpCall,
    decidableOnly(matchRoute),
    readToken,
    validateToken,
    verifyPossession,
    decide,
    enforceLimits,
    replyAllowed,
  ] as readonly Stage[]
}

function stagesOf(
  { decisionProtocol, decisionHeaders }: PipelineOptions,
  handOver: HandOver | undefined,
): readonly Stage[] {
  if (decisionProtocol !== undefined) return decisionStages(decisionProtocol, decisionHeaders)
  // Another server of this process handles allowed requests, so the upstreams get no credentials.
  return handOver === undefined ? STAGES : [...STAGES.slice(0, -2), createHandOver(handOver) as Stage]
}

/**
 * Runs the stages until one stage returns a response. The function is synchronous until a stage returns a promise, so a
 * request with a cached token needs no promise.
 */
function run(context: RequestContext, first: number): void {
  const { stages } = context.services
  for (let index = first; index < stages.length; index += 1) {
    const result = stages[index]?.(context)
    if (result === undefined) continue
    if (result instanceof Promise) resumeAfter(result, context, index + 1)
    else context.services.responder.respond(context, result)
    return
  }
}

/** Continues after the promise of a stage, unless the client has closed the connection. */
function resumeAfter(pending: Promise<StageResult>, context: RequestContext, next: number): void {
  const { responder } = context.services
  pending.then(
    (result) => {
      if (context.response.destroyed) return
      try {
        if (result === undefined) run(context, next)
        else responder.respond(context, result)
      } catch (error) {
        responder.fail500(context, error)
      }
    },
    (error) => responder.fail500(context, error),
  )
}

/** @param handOver set if another server of this process handles allowed requests. */
export function createPipeline(options: PipelineOptions, handOver?: HandOver): Pipeline {
  const services = createServices(options, handOver)
  const { responder, tracker, eventStreams } = services

  return {
    handle(request, response, upgraded) {
      if (responder.isAfterFinalResponse(request)) return
      let context: RequestContext | undefined
      try {
        context = createContext(services, request, response, upgraded)
        tracker.start(context)
        run(context, 0)
      } catch (error) {
        if (context === undefined) responder.fail500Early(response, error)
        else responder.fail500(context, error)
      }
    },
    endStreams() {
      for (const stream of [...eventStreams]) stream.endStream()
    },
    get inFlight() {
      return tracker.inFlight
    },
  }
}

function createServices(options: PipelineOptions, handOver: HandOver | undefined): PipelineServices {
  const { origin, host, protocol } = new URL(options.baseUrl)
  return {
    ...options,
    forwards: options.decisionProtocol === undefined && handOver === undefined,
    stages: stagesOf(options, handOver),
    responder: createResponder(options),
    tracker: createRequestTracker(options),
    targetRules: { origin, limitBytes: options.limits.targetBytes },
    certificateOf: createCertificateReader({ ...options.clientCertificates, ...options }),
    fixedHeaders: ['x-forwarded-host', host, 'x-forwarded-proto', protocol.slice(0, -1)],
    eventStreams: new Set(),
  }
}
