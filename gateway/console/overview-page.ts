import { HTTP_BUCKETS } from '../../platform/http-labels.ts'
import { barChart, type ChartState } from '../../platform/pages/chart.ts'
import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { formatAge, formatTime } from '../../platform/pages/format-time.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions, type PageState, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { ConsoleState } from './console-source.ts'
import { gaugeOf, type History, MAX_POINTS, type Point } from './history.ts'
import { type Parts, type PartsPoint, partCards, toParts, toPartsPoint } from './overview-parts.ts'
import { findProblems, type Problem } from './problems.ts'
import { RECENT_POINTS, type RouteTraffic, recentRoutes, toTraffic } from './route-traffic.ts'
import { routeHref } from './routes-page.ts'
import { GAUGES, type IssuerCounts } from './sample.ts'

type OverviewData = Parts & {
  readonly version: string
  readonly policyHash: string
  readonly nowMs: number
  readonly sinceMs: number
  readonly problems: readonly Problem[]
  /** The state of each check of `/readyz`. */
  readonly checks: readonly {
    readonly name: string
    readonly state: PageState
    readonly detail: string | null
  }[]
  readonly lastMinute: {
    readonly requests: number
    readonly requestsPerSecond: number
    readonly failed: number
    readonly denied: number
    readonly denials: Readonly<Record<string, number>>
    /** Upper estimates from the buckets of the histogram. Milliseconds; null without requests. */
    readonly p50Ms: number | null
    readonly p95Ms: number | null
    readonly p99Ms: number | null
    readonly cacheHitRatio: number | null
    readonly introspections: { readonly answered: number; readonly failed: number }
    readonly revocations: number
    readonly deniedRoutes: readonly { readonly name: string; readonly traffic: RouteTraffic }[]
  }
  readonly inFlight: number
  readonly sessions: number
  readonly cacheEntries: number
  readonly series: readonly SeriesPoint[]
}

type SeriesPoint = PartsPoint & {
  readonly startMs: number
  readonly requestsPerSecond: number
  readonly failedPerSecond: number
  readonly deniedPerSecond: number
  readonly p95Ms: number | null
  readonly cacheHitRatio: number | null
  readonly introspectionsPerSecond: number
}

const SHOWN_DENIED_ROUTES = 5

/** The state of the gateway: problems first, then traffic. */
export function overviewPage(state: ConsoleState): ConsolePage<OverviewData> {
  return {
    path: '/',
    title: 'Overview',
    async data() {
      const [policies, history] = await Promise.all([state.describe(), state.history()])
      return toOverview(history, state, policies?.routes ?? [])
    },
    render: (data) =>
      live('overview', html`${problemList(data)}${charts(data)}${deniedRoutes(data)}${checkList(data)}`),
  }
}

function toOverview(history: History, state: ConsoleState, routes: readonly PolicyRoute[]): OverviewData {
  const { points, gauges, checks, sinceMs } = history
  const recent = points.slice(-RECENT_POINTS)
  const seconds = secondsOf(recent)
  const sum = (of: (point: Point) => number) => recent.reduce((total, point) => total + of(point), 0)
  const denials: Record<string, number> = {}
  for (const { totals } of recent)
    for (const [reason, count] of Object.entries(totals.denials))
      denials[reason] = (denials[reason] ?? 0) + count
  const latency = sumLatency(recent)
  const denied = [...recentRoutes(history)]
    .map(([name, counts]) => ({ name, traffic: toTraffic(counts) }))
    .filter(({ traffic }) => traffic.denied > 0)
    .toSorted((a, b) => b.traffic.denied - a.traffic.denied)
  return {
    version: state.version,
    policyHash: state.policies.active.hash,
    nowMs: state.nowMs(),
    sinceMs,
    problems: findProblems(history, state, routes),
    checks: checks.map(({ name, ok, degraded, detail }) => ({
      name,
      state: !ok ? 'wrong' : degraded === true ? 'notice' : 'ok',
      detail: detail ?? null,
    })),
    lastMinute: {
      requests: sum(({ totals }) => totals.requests),
      requestsPerSecond: sum(({ totals }) => totals.requests) / seconds,
      failed: sum(({ totals }) => totals.failed),
      denied: sum(({ totals }) => totals.denied),
      denials,
      p50Ms: quantileMs(latency, 0.5),
      p95Ms: quantileMs(latency, 0.95),
      p99Ms: quantileMs(latency, 0.99),
      cacheHitRatio: hitRatio(
        sum(({ totals }) => totals.cacheHits),
        sum(({ totals }) => totals.cacheMisses),
      ),
      introspections: {
        answered: sum(({ issuers }) => sumOf(issuers, 'answered')),
        failed: sum(({ issuers }) => sumOf(issuers, 'failed')),
      },
      revocations: sum(({ totals }) => totals.revocations),
      deniedRoutes: denied.slice(0, SHOWN_DENIED_ROUTES),
    },
    inFlight: gaugeOf(gauges, GAUGES.requestsInFlight) ?? 0,
    sessions: gaugeOf(gauges, GAUGES.websocketSessions) ?? 0,
    cacheEntries:
      (gaugeOf(gauges, GAUGES.cacheEntries, { kind: 'jwt' }) ?? 0) +
      (gaugeOf(gauges, GAUGES.cacheEntries, { kind: 'opaque' }) ?? 0),
    ...toParts(history, state.policies),
    series: points.map((point) => {
      const { totals, issuers, startMs } = point
      const length = secondsOf([point])
      return {
        startMs,
        requestsPerSecond: totals.requests / length,
        failedPerSecond: totals.failed / length,
        deniedPerSecond: totals.denied / length,
        p95Ms: quantileMs(totals.latency, 0.95),
        cacheHitRatio: hitRatio(totals.cacheHits, totals.cacheMisses),
        introspectionsPerSecond: (sumOf(issuers, 'answered') + sumOf(issuers, 'failed')) / length,
        ...toPartsPoint(point, length),
      }
    }),
  }
}

function sumOf(issuers: Point['issuers'], key: keyof IssuerCounts): number {
  return [...issuers.values()].reduce((sum, counts) => sum + counts[key], 0)
}

function secondsOf(points: readonly Point[]): number {
  const [first] = points
  const last = points.at(-1)
  return Math.max(1, ((last?.endMs ?? 0) - (first?.startMs ?? 0)) / 1_000)
}

function sumLatency(points: readonly Point[]): readonly number[] {
  return [...HTTP_BUCKETS, 0].map((_, index) =>
    points.reduce((sum, { totals }) => sum + (totals.latency[index] ?? 0), 0),
  )
}

/**
 * Returns the upper bound of the bucket that contains the quantile. null without requests. A quantile above the last
 * bound is Infinity, which JSON shows as null.
 */
export function quantileMs(buckets: readonly number[], quantile: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let below = 0
  for (const [index, bound] of HTTP_BUCKETS.entries()) {
    below += buckets[index] ?? 0
    if (below >= quantile * total) return bound * 1_000
  }
  return Number.POSITIVE_INFINITY
}

function hitRatio(hits: number, misses: number): number | null {
  return hits + misses === 0 ? null : hits / (hits + misses)
}

function problemList({ problems, nowMs, sinceMs }: OverviewData): Html {
  if (problems.length === 0)
    return html`<p>${stateText('ok', 'No problems.')} All checks pass, and no request failed in the last minute.</p>`
  return html`<section aria-labelledby="problems"><h2 id="problems">Problems (${problems.length})</h2>
${problems.map((problem) => problemCard(problem, nowMs, sinceMs))}</section>`
}

function problemCard(
  { state, title, detail, place, action, doc, href, ...problem }: Problem,
  nowMs: number,
  observedMs: number,
): Html {
  const { sinceMs } = problem
  const since =
    sinceMs === null || sinceMs <= observedMs
      ? html`since ${formatTime(observedMs)} or earlier`
      : html`since ${formatTime(sinceMs)} (${formatAge(nowMs - sinceMs)})`
  return html`<div class="${state} problem"><h3>${title} <span class="badge">${state === 'wrong' ? 'requests fail' : 'degraded'}</span></h3>
<p>${detail}</p>
${place !== null && html`<p>Policy file: <code>${place}</code></p>`}
<p>${since}</p>
<p><strong>What to do:</strong> ${action}</p>
<p>${href !== null && html`<a href="${href}">Details</a> · `}${docLink(doc)}</p></div>`
}

function charts({ series, lastMinute, sinceMs, nowMs, ...data }: OverviewData): Html {
  const chart = (of: (point: SeriesPoint) => number | null, label: string, state?: ChartState) =>
    barChart(
      series.map((point) => of(point) ?? 0).map((value) => (Number.isFinite(value) ? value : 20_000)),
      { slots: MAX_POINTS, label: `${label}, last 30 min`, ...(state && { state }) },
    )
  const card = (title: string, number: string, picture: Html, note: Html | string) =>
    html`<div class="card"><h3>${title}</h3><p class="number">${number}</p>${picture}<p class="quiet-text">${note}</p></div>`
  const { answered, failed } = lastMinute.introspections
  const reasons = Object.entries(lastMinute.denials).toSorted(([, a], [, b]) => b - a)
  return html`<section aria-labelledby="traffic"><h2 id="traffic">Traffic and state</h2>
<p class="quiet-text">Numbers: last minute. Charts: last 30 min, observed since ${formatTime(sinceMs)} (${formatAge(nowMs - sinceMs)}).</p>
<div class="cards">
${card(
  'Requests per second',
  decimal(lastMinute.requestsPerSecond),
  chart((point) => point.requestsPerSecond, 'Requests per second'),
  `in progress: ${data.inFlight}, WebSocket sessions: ${data.sessions}`,
)}
${card(
  'Failed requests',
  String(lastMinute.failed),
  chart((point) => point.failedPerSecond, 'Failed requests per second', 'wrong'),
  'status 500 or higher',
)}
${card(
  'Denied requests',
  String(lastMinute.denied),
  chart((point) => point.deniedPerSecond, 'Denied requests per second', 'notice'),
  reasons.length === 0 ? 'no denials' : reasons.map(([reason, count]) => `${reason} ${count}`).join(', '),
)}
${card(
  'Time of 95 % of requests',
  milliseconds(lastMinute.p95Ms),
  chart((point) => point.p95Ms, '95th percentile'),
  `50 %: ${milliseconds(lastMinute.p50Ms)}, 99 %: ${milliseconds(lastMinute.p99Ms)}; until the end of the response`,
)}
${card(
  'Token cache hits',
  percent(lastMinute.cacheHitRatio),
  chart((point) => point.cacheHitRatio, 'Cache hit ratio'),
  `tokens in the cache: ${data.cacheEntries}`,
)}
${card(
  'Introspections',
  String(answered + failed),
  chart((point) => point.introspectionsPerSecond, 'Introspection requests per second'),
  `failed: ${failed}${data.revocationStreams === null ? `; revocations received: ${lastMinute.revocations}` : ''}`,
)}
${partCards(data, { nowMs, lastMinute, chart, card })}
</div></section>`
}

const DENIED_COLUMNS = [
  { title: 'Route' },
  { title: 'Denied', isCount: true },
  { title: 'Requests', isCount: true },
  { title: 'Reasons' },
] as const

function deniedRoutes({ lastMinute: { deniedRoutes } }: OverviewData): Html | undefined {
  if (deniedRoutes.length === 0) return undefined
  return html`<section aria-labelledby="denied"><h2 id="denied">Routes with most denials in the last minute</h2>
${table(
  DENIED_COLUMNS,
  deniedRoutes.map(({ name, traffic }) => [
    html`<a href="${routeHref(name)}">${name}</a>`,
    traffic.denied,
    traffic.requests,
    Object.keys(traffic.denials).join(', '),
  ]),
)}</section>`
}

const STATES = { ok: 'ok', notice: 'degraded', wrong: 'fails' } as const

function checkList({ checks }: OverviewData): Html {
  const rows = checks.map(
    ({ name, state, detail }) =>
      [name, html`${stateText(state, STATES[state])}${detail !== null && ` ${detail}`}`] as const,
  )
  return html`<section aria-labelledby="checks"><h2 id="checks">Checks</h2>${definitions(rows)}</section>`
}

function decimal(value: number): string {
  return value === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)
}

function milliseconds(value: number | null): string {
  if (value === null) return 'no requests'
  return Number.isFinite(value) ? `≤ ${value} ms` : '> 10 s'
}

function percent(ratio: number | null): string {
  return ratio === null ? 'no tokens' : `${(ratio * 100).toFixed(0)} %`
}
