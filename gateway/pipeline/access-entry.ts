import type { AccessEntry } from '../observability/access-log.ts'
import { decisionOf } from './decision-label.ts'
import type { Served } from './request-context.ts'

const NO_SCOPES: readonly string[] = []

/**
 * What the access log says about a request that is over, or about the WebSocket session that came of it.
 * `nowMs` is of the clock that `startedMs` is of.
 */
export function accessEntry(served: Served, status: number, nowMs: number): AccessEntry {
  const { request, route, refusal, reported, forwarded, decision, session } = served
  const told = refusal ?? reported
  return {
    timeMs: served.timeMs,
    requestId: served.requestId,
    method: request.method ?? '',
    path: served.canonical?.path,
    routeFields: route?.logFields ?? '',
    status,
    durationMs: nowMs - served.startedMs,
    upstreamStatus: forwarded?.status ?? 0,
    upstreamMs: forwarded?.durationMs ?? 0,
    clientAddress: served.clientAddress,
    userAgent: served.canonical?.headers.userAgent,
    decision,
    would: reported && decisionOf(reported),
    caller: served.caller,
    rateLimitRemaining: served.rate?.remaining,
    scopesMissing: told?.refused === 'scope_missing' ? told.missing : NO_SCOPES,
    audience:
      told?.refused === 'token_invalid' && told.fault.reason === 'wrong_audience' ? told.fault : undefined,
    condition: told?.refused === 'condition_failed' ? told.condition : undefined,
    session,
    errorType: session === undefined ? errorType(served) : undefined,
    errorCode: forwarded?.failureCode ?? served.failureCode,
  }
}

function errorType(served: Served): string | undefined {
  if (served.forwarded?.failure !== undefined) return `upstream_${served.forwarded.failure}`
  if (served.refusal !== undefined) return served.refusal.refused
  return served.response.writableFinished ? undefined : 'client_closed'
}
