import { Counter, type Registry } from 'prom-client'
import { codeClass, HTTP_BUCKETS, methodLabel } from '../../platform/http-labels.ts'
import { BufferedHistogram } from '../../platform/ops/buffered-histogram.ts'
import { BufferedCounter } from './buffered-counter.ts'
import type { Decision } from './decision.ts'
import { memoize } from './memoize.ts'

/** Metrics of one route. Series are looked up once. Labels never contain values that callers choose. */
export type RouteMeter = {
  /** @param traceId trace of the request, if the trace is sampled. */
  finished(method: string, status: number, seconds: number, traceId?: string): void
  /** Counts a request for a decision, in addition to `finished`. */
  asked(status: number): void
  decided(decision: Decision): void
  /** Counts a denial that audit-only mode did not apply. */
  reported(decision: Decision): void
  rateLimited(outcome: 'allowed' | 'limited'): void
  /** Counts a rejection by the name of the limit. Policies and presets contain all names. */
  rejectedBy(limit: string): void
  sessionEnded(code: number): void
}

export type RouteMeters = {
  /** Returns the meter of a route. A second meter for the same route continues the counts of the first meter. */
  of(route: string): RouteMeter
  remove(route: string): void
}

export function createRouteMeters(registers: [Registry]): RouteMeters {
  const requests = new BufferedCounter({
    name: 'scopegate_http_requests_total',
    help: 'Finished requests.',
    labelNames: ['route', 'method', 'code'],
    registers,
  })
  const durations = new BufferedHistogram<'route' | 'method' | 'code_class'>({
    name: 'scopegate_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response.',
    buckets: HTTP_BUCKETS,
    registers,
  })
  const asked = new BufferedCounter({
    name: 'scopegate_decision_requests_total',
    help: 'Finished requests for decisions on requests that another ingress forwards.',
    labelNames: ['route', 'code'],
    registers,
  })
  const decisions = new BufferedCounter({
    name: 'scopegate_auth_decisions_total',
    help: 'Decisions on API routes.',
    labelNames: ['route', 'decision', 'reason'],
    registers,
  })
  const reports = new BufferedCounter({
    name: 'scopegate_auth_reported_total',
    help: 'Requests that audit-only mode allowed although their policy denies them.',
    labelNames: ['route', 'decision', 'reason'],
    registers,
  })
  const rateLimits = new BufferedCounter({
    name: 'scopegate_rate_limit_total',
    help: 'Requests on routes with a rate limit.',
    labelNames: ['route', 'outcome'],
    registers,
  })
  const limitRejections = new BufferedCounter({
    name: 'scopegate_rate_limit_rejections_total',
    help: 'Requests that a rate limit rejected, by the name of the limit.',
    labelNames: ['route', 'limit'],
    registers,
  })
  const sessionsClosed = new Counter({
    name: 'scopegate_websocket_sessions_closed_total',
    help: 'Closed WebSocket sessions, by close code.',
    labelNames: ['route', 'code'],
    registers,
  })
  const closeCodes = new Set<string>()

  function of(route: string): RouteMeter {
    const durationsOf = memoize((method: string) =>
      memoize((code_class: string) => durations.child({ route, method, code_class })),
    )
    const finished = memoize((method: string) =>
      memoize((status: number) => ({
        requests: requests.child({ route, method, code: String(status) }),
        durations: durationsOf(method)(codeClass(status)),
      })),
    )
    const askedWith = memoize((status: number) => asked.child({ route, code: String(status) }))
    const decided = memoize(({ decision, reason }: Decision) => decisions.child({ route, decision, reason }))
    const reported = memoize(({ decision, reason }: Decision) => reports.child({ route, decision, reason }))
    const rateLimited = memoize((outcome: 'allowed' | 'limited') => rateLimits.child({ route, outcome }))
    const rejectedBy = memoize((limit: string) => limitRejections.child({ route, limit }))
    return {
      finished(method, status, seconds, traceId) {
        const children = finished(methodLabel(method))(status)
        children.requests.inc()
        children.durations.observe(seconds, traceId)
      },
      asked: (status) => askedWith(status).inc(),
      decided: (decision) => decided(decision).inc(),
      reported: (decision) => reported(decision).inc(),
      rateLimited: (outcome) => rateLimited(outcome).inc(),
      rejectedBy: (limit) => rejectedBy(limit).inc(),
      sessionEnded(code) {
        const label = closeCodeLabel(code)
        closeCodes.add(label)
        sessionsClosed.inc({ route, code: label })
      },
    }
  }

  return {
    of,
    remove(route) {
      for (const metric of [requests, durations, asked, decisions, reports, rateLimits, limitRejections])
        metric.remove((labels) => labels['route'] === route)
      for (const code of closeCodes) sessionsClosed.remove({ route, code })
    },
  }
}

/**
 * Returns the label of a close code. Applications choose the codes of 3000 and above. These codes share two labels,
 * because the set of labels must be fixed.
 */
function closeCodeLabel(code: number): string {
  return code >= 1000 && code <= 1015 ? String(code) : code >= 4000 ? '4xxx' : code >= 3000 ? '3xxx' : 'other'
}
