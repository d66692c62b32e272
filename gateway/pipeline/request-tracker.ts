import { sampledTraceId } from '../../platform/tracing/traceparent.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { AccessEntry } from '../observability/access-log.ts'
import { decisionOf, placeOfDenial } from '../observability/decision.ts'
import type { DecisionRecord } from '../observability/decision-recorder.ts'
import type { Route } from '../snapshot/route.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { RequestContext, RequestTracker } from './request-context.ts'
import { endRequestSpans } from './request-spans.ts'

/**
 * Status in logs and metrics for a client that closed the connection before the response. The gateway never sends this
 * status.
 */
const CLIENT_CLOSED_STATUS = 499
const NO_SCOPES: readonly string[] = []

export function createRequestTracker(
  options: Pick<
    PipelineOptions,
    'accessLog' | 'decisionRecorder' | 'unmatchedMeter' | 'tickMs' | 'onBroken' | 'report'
  >,
): RequestTracker {
  const { accessLog, decisionRecorder, unmatchedMeter, tickMs, onBroken, report } = options
  let inFlight = 0

  function count(context: RequestContext, status: number): void {
    const { method, route, decision, auditOnlyDenial, startedMs, span, isDecision } = context
    inFlight -= 1
    const meter = route?.meter ?? unmatchedMeter
    const seconds = (tickMs() - startedMs) / 1_000
    meter.finished(method, status, seconds, exemplarTraceId(context))
    if (isDecision) meter.asked(status)
    if (span !== undefined)
      endRequestSpans(context, span, { status, errorType: spanErrorType(context, status) })
    if (decision !== undefined) meter.decided(decision)
    const would = auditOnlyDenial && decisionOf(auditOnlyDenial)
    if (would !== undefined) meter.reported(would)
  }

  function finished(context: RequestContext): void {
    const { response, deniedStatus } = context
    const status = response.headersSent ? (deniedStatus ?? response.statusCode) : CLIENT_CLOSED_STATUS
    count(context, status)
    log(context, status)
  }

  /** Logs the request, and records it for the console if the console needs it. */
  function log(context: RequestContext, status: number): void {
    const { rejection, auditOnlyDenial } = context
    const isRecorded =
      decisionRecorder !== undefined &&
      (decisionRecorder.isWatched || rejection !== undefined || auditOnlyDenial !== undefined)
    if (!isRecorded && !accessLog.isEnabled) return
    const entry = accessEntry(context, status, tickMs())
    if (accessLog.isEnabled) accessLog.add(entry)
    if (isRecorded) decisionRecorder.add(decisionRecord(context, entry))
  }

  return {
    get inFlight() {
      return inFlight
    },
    start(context) {
      inFlight += 1
      context.response.on('close', () => {
        try {
          finished(context)
        } catch (error) {
          onBroken()
          report('request_failed', context.requestId, context.clientAddress, error)
        }
      })
    },
    becameSession: (context) => count(context, 101),
    sessionEnded(context, end) {
      context.session = end
      log(context, 101)
    },
  }
}

/** Returns the trace ID of the request if the trace is recorded. Without tracing, the client decides about the trace. */
function exemplarTraceId({ span, canonical }: RequestContext): string | undefined {
  if (span === undefined) return sampledTraceId(canonical?.headers.header('traceparent'))
  return span.isSampled ? span.traceId : undefined
}

/** Returns the error type of a span. A request that became a WebSocket session has no error. */
function spanErrorType(context: RequestContext, status: number): string | undefined {
  return status === 101 ? undefined : errorType(context)
}

/**
 * Returns the access log entry of a finished request or WebSocket session.
 * @param nowMs from the same clock as `startedMs`.
 */
function accessEntry(context: RequestContext, status: number, nowMs: number): AccessEntry {
  const { route, rejection, auditOnlyDenial, forwarded, decision, session } = context
  const shown = rejection ?? auditOnlyDenial
  return {
    timeMs: context.timeMs,
    requestId: context.requestId,
    isDecision: context.isDecision,
    trace: context.span,
    method: context.method,
    path: context.canonical?.path,
    routeFields: route?.logFields ?? '',
    status,
    durationMs: nowMs - context.startedMs,
    upstreamStatus: forwarded?.status ?? 0,
    upstreamMs: forwarded?.durationMs ?? 0,
    clientAddress: context.clientAddress,
    userAgent: context.canonical?.headers.userAgent,
    decision,
    would: auditOnlyDenial && decisionOf(auditOnlyDenial),
    caller: context.caller,
    policyPlace: shown === undefined ? undefined : policyPlace(shown, route),
    tokenFault: shown?.rejected === 'token_invalid' ? shown.fault.reason : undefined,
    rateLimitRemaining: context.rate?.remaining,
    rateLimitRejected: rejection?.rejected === 'rate_limited' ? rejection.limit : undefined,
    scopesMissing: shown?.rejected === 'scope_missing' ? shown.missing : NO_SCOPES,
    audience:
      shown?.rejected === 'token_invalid' && shown.fault.reason === 'wrong_audience'
        ? shown.fault
        : undefined,
    condition: shown?.rejected === 'condition_failed' ? shown.condition : undefined,
    session,
    errorType: session === undefined ? errorType(context) : undefined,
    errorCode: forwarded?.failureCode ?? context.failureCode,
  }
}

function policyPlace(rejection: Rejection, route: Route | undefined): string | undefined {
  const place = route?.kind === 'api' ? placeOfDenial(rejection, route.policy) : undefined
  return place && `${place.file}:${place.line}:${place.column}`
}

/** Contains no reference to the request, the response or the token. */
function decisionRecord(context: RequestContext, entry: AccessEntry): DecisionRecord {
  const { request, rejection, auditOnlyDenial, route, resource, credential } = context
  return {
    entry,
    rejection,
    auditOnlyDenial,
    policy: route?.kind === 'api' ? route.policy : undefined,
    resource,
    credential,
    // The path can be a part of the target, and then keeps the memory of the target.
    textLength: (request.url?.length ?? 0) + (entry.path?.length ?? 0) + (entry.userAgent?.length ?? 0),
  }
}

function errorType(context: RequestContext): string | undefined {
  if (context.forwarded?.failure !== undefined) return `upstream_${context.forwarded.failure}`
  if (context.rejection !== undefined) return context.rejection.rejected
  return context.response.writableFinished ? undefined : 'client_closed'
}
