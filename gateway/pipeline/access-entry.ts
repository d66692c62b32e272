import type { AccessEntry } from '../observability/access-log.ts'
import { decisionOf } from './decision-label.ts'
import type { RequestContext } from './request-context.ts'

const NO_SCOPES: readonly string[] = []

/**
 * Returns the access log entry of a finished request or WebSocket session.
 * @param nowMs from the same clock as `startedMs`.
 */
export function accessEntry(context: RequestContext, status: number, nowMs: number): AccessEntry {
  const { request, route, refusal, auditOnlyRefusal: reported, forwarded, decision, session } = context
  const told = refusal ?? reported
  return {
    timeMs: context.timeMs,
    requestId: context.requestId,
    method: request.method ?? '',
    path: context.canonical?.path,
    routeFields: route?.logFields ?? '',
    status,
    durationMs: nowMs - context.startedMs,
    upstreamStatus: forwarded?.status ?? 0,
    upstreamMs: forwarded?.durationMs ?? 0,
    clientAddress: context.clientAddress,
    userAgent: context.canonical?.headers.userAgent,
    decision,
    would: reported && decisionOf(reported),
    caller: context.caller,
    rateLimitRemaining: context.rate?.remaining,
    scopesMissing: told?.refused === 'scope_missing' ? told.missing : NO_SCOPES,
    audience:
      told?.refused === 'token_invalid' && told.fault.reason === 'wrong_audience' ? told.fault : undefined,
    condition: told?.refused === 'condition_failed' ? told.condition : undefined,
    session,
    errorType: session === undefined ? errorType(context) : undefined,
    errorCode: forwarded?.failureCode ?? context.failureCode,
  }
}

function errorType(context: RequestContext): string | undefined {
  if (context.forwarded?.failure !== undefined) return `upstream_${context.forwarded.failure}`
  if (context.refusal !== undefined) return context.refusal.refused
  return context.response.writableFinished ? undefined : 'client_closed'
}
