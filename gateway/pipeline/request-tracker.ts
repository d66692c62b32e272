import type { SessionEnd } from '../upstreams/websocket/session.ts'
import { accessEntry } from './access-entry.ts'
import { decisionOf } from './decision-label.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import type { Served } from './request-context.ts'

/** Counts and logs each request once, when nothing more will come of it. */
export type RequestBooks = {
  readonly inFlight: number
  /** Counts a request from here to the close of its response. */
  began(served: Served): void
  /**
   * The request has become a WebSocket session: it is counted now, and logged when the session is over. Whoever calls
   * this has taken the listeners off its response.
   */
  becameSession(served: Served): void
  sessionEnded(served: Served, end: SessionEnd): void
}

/** What a client that left before its answer is counted as. No such answer is ever sent. */
const CLIENT_CLOSED_STATUS = 499

/** Opens the books. */
export function createRequestBooks(
  options: Pick<PipelineOptions, 'accessLog' | 'unmatchedMeter' | 'tickMs' | 'onBroken' | 'report'>,
): RequestBooks {
  const { accessLog, unmatchedMeter, tickMs, onBroken, report } = options
  let inFlight = 0

  function count({ request, route, decision, reported, startedMs }: Served, status: number): void {
    inFlight -= 1
    const meter = route?.meter ?? unmatchedMeter
    meter.finished(request.method ?? '', status, (tickMs() - startedMs) / 1_000)
    if (decision !== undefined) meter.decided(decision)
    const would = reported && decisionOf(reported)
    if (would !== undefined) meter.reported(would)
  }

  function finished(served: Served): void {
    const { response } = served
    const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_STATUS
    count(served, status)
    accessLog.add(accessEntry(served, status, tickMs()))
  }

  return {
    get inFlight() {
      return inFlight
    },
    began(served) {
      inFlight += 1
      served.response.on('close', () => {
        try {
          finished(served)
        } catch (error) {
          onBroken()
          report('request_failed', served.requestId, error)
        }
      })
    },
    becameSession: (served) => count(served, 101),
    sessionEnded(served, end) {
      served.session = end
      accessLog.add(accessEntry(served, 101, tickMs()))
    },
  }
}
