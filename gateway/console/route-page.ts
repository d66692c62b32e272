import { barChart } from '../../platform/pages/chart.ts'
import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { formatTime } from '../../platform/pages/format-time.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import { describeCondition } from '../../policy-engine/decide/compile-condition.ts'
import { describeScopes, describeService } from '../../policy-engine/decide/describe-route.ts'
import {
  describeAnonymous,
  describeCors,
  describeMcp,
  formatAuthentication,
} from '../../policy-engine/decide/describe-rules.ts'
import { compileScopeCheck } from '../../policy-engine/decide/scope-check.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { ConsoleState, DescribedPolicies } from './console-source.ts'
import { explainReason } from './denial-reasons.ts'
import { deniedCount, type History, MAX_POINTS } from './history.ts'
import type { RouteTests } from './policy-tests.ts'
import { failingSince, type RouteTraffic, recentRoutes, toTraffic } from './route-traffic.ts'
import { testsSection } from './tests-section.ts'

type RouteData = {
  readonly route: PolicyRoute
  /** Name and text of each rule. */
  readonly rules: readonly (readonly [string, string])[]
  readonly lastMinute: RouteTraffic
  readonly failingSinceMs: number | null
  readonly upstreamErrors: Readonly<Record<string, number>>
  readonly series: readonly {
    readonly startMs: number
    readonly requests: number
    readonly failed: number
    readonly denied: number
  }[]
  /** null: the results are not available. */
  readonly tests: RouteTests | null
}

/** One route: every rule in words, its traffic, its tests, and why requests are denied or fail. */
export function routePage(state: ConsoleState): ConsolePage<RouteData> {
  return {
    path: '/console/route',
    title: 'Route',
    parent: '/console/routes',
    heading: ({ route }) => route.name,
    async data(query) {
      const [policies, history] = await Promise.all([state.describe(), state.history()])
      const name = query.get('name')
      const route = policies?.routes.find((one) => one.name === name)
      if (policies === undefined || route === undefined) return undefined
      const tests = (await state.testsOf(route.name, policies)) ?? null
      return { ...toData(route, policies, history), tests }
    },
    render: (
      data,
    ) => html`<p><a href="/console/decisions?${new URLSearchParams({ route: data.route.name }).toString()}">Recent decisions of this route, and why</a></p>
${live('traffic', html`${failures(data)}${traffic(data)}${denials(data)}`)}
${live('rules', html`<section aria-labelledby="rules"><h2 id="rules">Rules</h2>${definitions(data.rules)}</section>${testsSection(data.tests, data.route.source.file)}`)}`,
  }
}

function toData(route: PolicyRoute, policies: DescribedPolicies, history: History): Omit<RouteData, 'tests'> {
  const { name, upstream } = route
  const { points } = history
  const upstreamErrors: Record<string, number> = {}
  for (const { upstreams } of points.slice(-6))
    for (const [reason, count] of Object.entries(upstreams.get(upstream ?? '')?.errors ?? {}))
      upstreamErrors[reason] = (upstreamErrors[reason] ?? 0) + count
  const lastMinute = toTraffic(recentRoutes(history).get(name))
  return {
    route,
    rules: describeRules(route, policies),
    lastMinute,
    failingSinceMs:
      lastMinute.failed === 0
        ? null
        : failingSince(points, ({ routes }) => {
            const counts = routes.get(name)
            return counts && { all: counts.requests, failed: counts.failed }
          }),
    upstreamErrors,
    series: points.map(({ startMs, routes }) => {
      const counts = routes.get(name)
      const { requests = 0, failed = 0 } = counts ?? {}
      return { startMs, requests, failed, denied: counts === undefined ? 0 : deniedCount(counts) }
    }),
  }
}

/** Returns every rule of a route in words. */
function describeRules(
  route: PolicyRoute,
  { implication }: DescribedPolicies,
): readonly (readonly [string, string])[] {
  const { file, line, column } = route.source
  const scopes = compileScopeCheck(route.scopes, new Map(Object.entries(implication)))
  const headers = route.matchHeaders.map(({ name, value }) => `${name}: ${value}`).join(', ')
  const optional: readonly (readonly [string, string | undefined])[] = [
    ['Headers of the request', headers === '' ? undefined : headers],
    ['Policy source', route.policySource],
    ['Team', route.owner],
    ['Preset', route.preset],
  ]
  const more: readonly (readonly [string, string | undefined])[] = [
    ['Sign-in', route.authentication && formatAuthentication(route.authentication)],
    ...route.when.map((condition) => ['Condition', describeCondition(condition)] as const),
    ['Pages of other origins', route.cors && describeCors(route.cors)],
    ['MCP messages', route.mcp && describeMcp(route)],
    ['Upstream path', route.rewritePath],
    ['Prefix that the gateway removes', route.mount],
    ['Paths of other policy sources', route.excludedPrefixes?.join(', ') || undefined],
  ]
  const present = (rows: typeof more) =>
    rows.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]))
  return [
    ['Request', `${route.methods.join(', ')} ${route.path}`],
    ...present(optional),
    ['Policy file', `${file}:${line}:${column}`],
    ['Without a token', describeAnonymous(route.anonymous)],
    [
      'Scopes of the token',
      scopes === undefined
        ? 'none: a token is optional, and an invalid token is rejected'
        : describeScopes(scopes, true),
    ],
    ...present(more),
    [
      'Denials',
      route.enforce === 'report'
        ? 'audit-only: a missing token, scope or claim is logged and counted, not denied'
        : 'are applied',
    ],
    ...Object.entries(describeService({ policy: route })).map(
      ([name, text]) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, text] as const,
    ),
  ]
}

function failures({ lastMinute, failingSinceMs, route, upstreamErrors }: RouteData): Html | undefined {
  if (lastMinute.failed === 0) return undefined
  const errors = Object.entries(upstreamErrors).map(([reason, count]) => `${reason} ${count}`)
  return html`<div class="wrong problem"><h2>${lastMinute.failed} of ${countText(lastMinute.requests, 'request')} failed in the last minute</h2>
<p>since ${failingSinceMs === null ? 'an unknown time' : formatTime(failingSinceMs)} or earlier</p>
${route.upstream !== undefined && html`<p>Upstream <a href="/console/upstreams">${route.upstream}</a>: ${errors.length === 0 ? 'no connection errors, so its own responses have these statuses' : `requests without a complete response: ${errors.join(', ')}`}.</p>`}</div>`
}

function traffic({ lastMinute, series }: RouteData): Html {
  const { requests, denied, failed, meanMs } = lastMinute
  const chart = (key: 'requests' | 'denied' | 'failed', label: string, state?: 'wrong' | 'notice') =>
    barChart(
      series.map((point) => point[key]),
      { slots: MAX_POINTS, label: `${label} in each 10 s, last 30 min`, ...(state && { state }) },
    )
  const card = (title: string, number: number, picture: Html, note: string) =>
    html`<div class="card"><h3>${title}</h3><p class="number">${number}</p>${picture}<p class="quiet-text">${note}</p></div>`
  return html`<section aria-labelledby="traffic"><h2 id="traffic">Traffic in the last minute</h2><div class="cards">
${card('Requests', requests, chart('requests', 'Requests'), meanMs === undefined ? 'no requests' : `mean time ${meanMs.toFixed(1)} ms, until the end of the response`)}
${card('Denied', denied, chart('denied', 'Denied requests', 'notice'), 'by the rules of this route')}
${card('Failed', failed, chart('failed', 'Failed requests', 'wrong'), 'status 500 or higher')}
</div></section>`
}

const DENIAL_COLUMNS = [
  { title: 'Reason' },
  { title: 'Requests', isCount: true },
  { title: 'Meaning' },
] as const

function denials({ lastMinute }: RouteData): Html | undefined {
  const reasons = Object.entries(lastMinute.denials).toSorted(([, a], [, b]) => b - a)
  if (reasons.length === 0) return undefined
  return html`<section aria-labelledby="denials"><h2 id="denials">Why requests were denied</h2>
${table(
  DENIAL_COLUMNS,
  reasons.map(([reason, count]) => [stateText('notice', reason), count, explainReason(reason)]),
)}</section>`
}
