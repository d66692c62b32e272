import type { SessionEnd } from '../upstreams/websocket/session.ts'
import { accessEntry } from './access-entry.ts'
import { decisionOf } from './decision-label.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { RequestContext } from './request-context.ts'

/** Counts and logs each request exactly once, when it is finished. */
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

/** Status in logs and metrics for a client that closed the connection before the response. Never sent. */
const CLIENT_CLOSED_STATUS = 499

export function createRequestTracker(
  options: Pick<PipelineOptions, 'accessLog' | 'unmatchedMeter' | 'tickMs' | 'onBroken' | 'report'>,
): RequestTracker {
  const { accessLog, unmatchedMeter, tickMs, onBroken, report } = options
  let inFlight = 0

  function count(
    { request, route, decision, auditOnlyRefusal: reported, startedMs }: RequestContext,
    status: number,
  ): void {
    inFlight -= 1
    const meter = route?.meter ?? unmatchedMeter
    meter.finished(request.method ?? '', status, (tickMs() - startedMs) / 1_000)
    if (decision !== undefined) meter.decided(decision)
    const would = reported && decisionOf(reported)
    if (would !== undefined) meter.reported(would)
  }

  function finished(context: RequestContext): void {
    const { response } = context
    const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_STATUS
    count(context, status)
    accessLog.add(accessEntry(context, status, tickMs()))
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
          report('request_failed', context.requestId, error)
        }
      })
    },
    becameSession: (context) => count(context, 101),
    sessionEnded(context, end) {
      context.session = end
      accessLog.add(accessEntry(context, 101, tickMs()))
    },
  }
}
