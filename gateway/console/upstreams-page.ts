import { type ConsolePage, live } from '../../platform/pages/console-page.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type PageState, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import type { ConsoleState } from './console-source.ts'
import { gaugesBy, type History } from './history.ts'
import { RECENT_POINTS } from './route-traffic.ts'
import { GAUGES, type GaugeName } from './sample.ts'

type UpstreamRow = {
  readonly name: string
  /** `ejected`: the gateway sends no requests to the upstream, because all of its addresses fail. */
  readonly state: 'up' | 'probing' | 'ejected'
  readonly routes: number
  readonly connections: number
  readonly pending: number
  /** Addresses whose health check fails. */
  readonly unhealthyTargets: readonly string[]
  readonly lastMinute: {
    readonly responses: number
    readonly failed: number
    /** Mean time to the first byte. Milliseconds. */
    readonly meanMs: number | null
    /** Requests without a complete response, by reason. */
    readonly errors: Readonly<Record<string, number>>
  }
}

/** The upstreams of all routes, those with problems first. */
export function upstreamsPage(
  state: ConsoleState,
): ConsolePage<{ readonly upstreams: readonly UpstreamRow[] }> {
  return {
    path: '/console/upstreams',
    title: 'Upstreams',
    async data() {
      const [policies, history] = await Promise.all([state.describe(), state.history()])
      const routes = Map.groupBy(policies?.routes ?? [], ({ upstream }) => upstream)
      const names = [...gaugesBy(history.gauges, GAUGES.upstreamUp, 'upstream').keys()]
      const rows = names.map((name) => toRow(name, routes.get(name)?.length ?? 0, history))
      return { upstreams: rows.toSorted((a, b) => rank(b) - rank(a)) }
    },
    render: ({ upstreams }) =>
      live(
        'upstreams',
        html`<p>The counts are of the last minute. Errors are requests without a complete response. The reasons: ${docLink('upstreams.md')}</p>${table(COLUMNS, upstreams.map(toCells))}`,
      ),
  }
}

function toRow(name: string, routes: number, { gauges, points }: History): UpstreamRow {
  const gauge = (metric: GaugeName) => gaugesBy(gauges, metric, 'upstream').get(name) ?? 0
  const errors: Record<string, number> = {}
  let [responses, failed, seconds] = [0, 0, 0]
  for (const { upstreams } of points.slice(-RECENT_POINTS)) {
    const counts = upstreams.get(name)
    if (counts === undefined) continue
    responses += counts.responses
    failed += counts.failed
    seconds += counts.seconds
    for (const [reason, count] of Object.entries(counts.errors))
      errors[reason] = (errors[reason] ?? 0) + count
  }
  const targets = gauges.find((metric) => metric.name === GAUGES.targetHealthy)?.values ?? []
  return {
    name,
    state: gauge(GAUGES.upstreamUp) === 0 ? 'ejected' : gauge(GAUGES.circuitState) === 1 ? 'probing' : 'up',
    routes,
    connections: gauge(GAUGES.upstreamConnections),
    pending: gauge(GAUGES.upstreamPending),
    unhealthyTargets: targets.flatMap(({ labels, value }) =>
      labels['upstream'] === name && value === 0 ? [String(labels['target'])] : [],
    ),
    lastMinute: { responses, failed, meanMs: responses === 0 ? null : (seconds * 1_000) / responses, errors },
  }
}

function rank({ state, lastMinute: { failed, errors }, unhealthyTargets }: UpstreamRow): number {
  return (
    Number(state !== 'up') * 4 +
    Number(Object.keys(errors).length > 0) * 2 +
    Number(failed + unhealthyTargets.length > 0)
  )
}

const COLUMNS = [
  { title: 'Upstream' },
  { title: 'State' },
  { title: 'Routes', isCount: true },
  { title: 'Responses', isCount: true },
  { title: 'Status 500 or higher', isCount: true },
  { title: 'Errors' },
  { title: 'Time to the first byte', isCount: true },
  { title: 'Connections', isCount: true },
  { title: 'Waiting', isCount: true },
] as const

const STATES: Readonly<Record<UpstreamRow['state'], readonly [PageState, string]>> = {
  up: ['ok', 'up'],
  probing: ['notice', 'trying again'],
  ejected: ['wrong', 'ejected: all addresses fail'],
}

function toCells({ lastMinute, ...row }: UpstreamRow): readonly (Html | string | number)[] {
  const errors = Object.entries(lastMinute.errors).map(([reason, count]) => `${reason} ${count}`)
  const { unhealthyTargets } = row
  return [
    row.name,
    html`${stateText(...STATES[row.state])}${unhealthyTargets.length > 0 && html` ${stateText('notice', `health check fails: ${unhealthyTargets.join(', ')}`)}`}`,
    html`<a href="/console/routes?${new URLSearchParams({ upstream: row.name }).toString()}">${row.routes}</a>`,
    lastMinute.responses,
    lastMinute.failed === 0 ? 0 : stateText('wrong', lastMinute.failed),
    errors.length === 0 ? 'none' : stateText('wrong', errors.join(', ')),
    lastMinute.meanMs === null ? '-' : `${lastMinute.meanMs.toFixed(1)} ms`,
    row.connections,
    row.pending,
  ]
}
