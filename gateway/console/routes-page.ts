import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { live } from '../../platform/pages/console-page.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { filterDisclosure } from '../../platform/pages/filter-disclosure.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import { formatScopeRule } from '../../policy-engine/decide/describe-rules.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { ConsoleState } from './console-source.ts'
import type { RouteTests, TestCounts, TestSummary } from './policy-tests.ts'
import { type RouteTraffic, recentRoutes, toTraffic } from './route-traffic.ts'
import { describeCounts, NO_RESULTS, testResults } from './tests-section.ts'

/** Rows of one page of the list. */
const PAGE_ROWS = 50

type RouteRow = {
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  readonly owner: string | null
  readonly scopes: string | null
  readonly anonymous: string
  readonly enforce: string
  readonly upstream: string | null
  readonly place: string
  readonly lastMinute: RouteTraffic
  /** null: the results are not available. */
  readonly tests: TestCounts | null
}

type RoutesData = {
  readonly hash: string
  readonly total: number
  readonly found: number
  readonly page: number
  readonly pages: number
  readonly owners: readonly string[]
  readonly routes: readonly RouteRow[]
  /** The number of tests of all policies. null: the results are not available. */
  readonly tests: TestCounts | null
  /** The tests that match no route, if one of them fails. Without `tests`, the details are not available. */
  readonly testsWithoutRoute: (TestCounts & Partial<Pick<RouteTests, 'tests'>>) | null
}

const FILTERS = ['owner', 'path', 'scope', 'anonymous', 'upstream'] as const

/** The list of all routes of policies, with filters. */
export function routesPage(state: ConsoleState): ConsolePage<RoutesData> {
  return {
    path: '/console/routes',
    title: 'Routes',
    formTargets: ["'self'"],
    async data(query) {
      const [policies, history] = await Promise.all([state.describe(), state.history()])
      const routes = policies?.routes ?? []
      const traffic = recentRoutes(history)
      const summary = policies && (await state.testSummary(policies))
      const testsOf = ({ name }: PolicyRoute) => summary && (summary.routes[name] ?? NO_TESTS)
      const matches = readFilter(query)
      const shows = readShow(query.get('show'))
      const found = routes.filter(
        (route) => matches(route) && shows(route, () => toTraffic(traffic.get(route.name)), testsOf(route)),
      )
      const pages = Math.max(1, Math.ceil(found.length / PAGE_ROWS))
      const page = Math.min(pages, Math.max(1, Math.floor(Number(query.get('page')) || 1)))
      return {
        hash: policies?.hash ?? state.policies.active.hash,
        total: routes.length,
        found: found.length,
        page,
        pages,
        owners: [...new Set(routes.flatMap(({ owner }) => owner ?? []))].sort(),
        routes: found
          .slice((page - 1) * PAGE_ROWS, page * PAGE_ROWS)
          .map((route) => toRow(route, toTraffic(traffic.get(route.name)), testsOf(route) ?? null)),
        tests: summary === undefined ? null : sumOf(summary),
        testsWithoutRoute:
          policies === undefined || summary === undefined || summary.withoutRoute.failed === 0
            ? null
            : ((await state.testsOf(undefined, policies)) ?? summary.withoutRoute),
      }
    },
    render(data, query) {
      const { found, total, page, pages } = data
      return html`${filterDisclosure(filterForm(data, query), query, [...FILTERS, 'show'])}
${live(
  'routes',
  html`<p>${found} of ${countText(total, 'route')}${pages > 1 && `, page ${page} of ${pages}`}. The counts are of the last minute. ${data.tests === null ? NO_RESULTS : html`Tests of the policies: ${describeCounts(data.tests)}.`}</p>
${data.routes.length > 0 && table(COLUMNS, data.routes.map(toCells))}${pager(data, query)}${withoutRoute(data)}`,
)}`
    },
  }
}

function readFilter(query: URLSearchParams): (route: PolicyRoute) => boolean {
  const [owner, path, scope, anonymous, upstream] = FILTERS.map((name) => query.get(name) ?? '')
  return (route) =>
    (!owner || route.owner === owner) &&
    (!path || `${route.path} ${route.name}`.includes(path)) &&
    (!scope || scopesOf(route).some((one) => one.includes(scope))) &&
    (!anonymous || route.anonymous === anonymous) &&
    (!upstream || route.upstream === upstream)
}

function scopesOf({ scopes }: PolicyRoute): readonly string[] {
  return scopes === undefined ? [] : [...scopes.all, ...scopes.any]
}

const NO_TESTS: TestCounts = { passed: 0, failed: 0 }

function sumOf({ routes, withoutRoute }: TestSummary): TestCounts {
  const all = [withoutRoute, ...Object.values(routes)]
  return {
    passed: all.reduce((sum, { passed }) => sum + passed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
  }
}

function withoutRoute({ testsWithoutRoute: found }: RoutesData): Html | undefined {
  if (found === null) return undefined
  const failed = found.tests?.filter(({ failure }) => failure !== null)
  return html`<section aria-labelledby="tests"><h2 id="tests">Failed tests that match no route</h2>${
    failed === undefined
      ? html`<p>${describeCounts({ passed: 0, failed: found.failed })}. ${NO_RESULTS}</p>`
      : testResults({ passed: 0, failed: found.failed }, failed)
  }</section>`
}

const SHOWN = {
  failed: { label: 'with failures', test: ({ failed }: RouteTraffic) => failed > 0 },
  denied: { label: 'with denials', test: ({ denied }: RouteTraffic) => denied > 0 },
  busy: { label: 'with requests', test: ({ requests }: RouteTraffic) => requests > 0 },
} as const

const SHOWN_TESTS = {
  'failed-tests': { label: 'with failed tests', test: ({ failed }: TestCounts) => failed > 0 },
  untested: { label: 'without tests', test: ({ failed, passed }: TestCounts) => failed + passed === 0 },
} as const

function readShow(
  show: string | null,
): (route: PolicyRoute, trafficOf: () => RouteTraffic, tests: TestCounts | undefined) => boolean {
  if (show === 'report') return ({ enforce }) => enforce === 'report'
  const testsTest = Object.entries(SHOWN_TESTS).find(([name]) => name === show)?.[1].test
  if (testsTest !== undefined) return (_route, _trafficOf, tests) => tests !== undefined && testsTest(tests)
  const test = Object.entries(SHOWN).find(([name]) => name === show)?.[1].test
  return (_route, trafficOf) => test === undefined || test(trafficOf())
}

function toRow(route: PolicyRoute, lastMinute: RouteTraffic, tests: TestCounts | null): RouteRow {
  const { name, methods, path, scopes, anonymous, enforce, source } = route
  return {
    name,
    methods,
    path,
    owner: route.owner ?? null,
    scopes: scopes === undefined ? null : formatScopeRule(scopes),
    anonymous,
    enforce,
    upstream: route.upstream ?? null,
    place: `${source.file}:${source.line}:${source.column}`,
    lastMinute,
    tests,
  }
}

function filterForm({ owners }: RoutesData, query: URLSearchParams): Html {
  const option = (value: string, label: string, name: string) =>
    html`<option value="${value}"${query.get(name) === value && html` selected`}>${label}</option>`
  const select = (name: string, label: string, options: readonly (readonly [string, string])[]) =>
    html`<p><label for="filter-${name}">${label}</label><select id="filter-${name}" name="${name}">${options.map(([value, text]) => option(value, text, name))}</select></p>`
  const search = (name: string, label: string) =>
    html`<p><label for="filter-${name}">${label}</label><input type="search" id="filter-${name}" name="${name}" value="${query.get(name) ?? ''}"></p>`
  const all = ['', 'all'] as const
  return html`<form class="filter" action="/console/routes" method="get">
${search('path', 'Path or name')}
${search('scope', 'Scope')}
${search('upstream', 'Upstream')}
${select('owner', 'Team', [all, ...owners.map((owner) => [owner, owner] as const)])}
${select('anonymous', 'Without a token', [all, ...['allow', 'challenge', 'deny'].map((one) => [one, one] as const)])}
${select('show', 'Only routes', [all, ...Object.entries({ ...SHOWN, ...SHOWN_TESTS }).map(([name, { label }]) => [name, label] as const), ['report', 'in audit-only mode']])}
<p><button type="submit">Filter</button></p>
</form>`
}

/** Address of the page of a route. */
export function routeHref(name: string): string {
  return `/console/route?${new URLSearchParams({ name })}`
}

const COLUMNS = [
  { title: 'Route' },
  { title: 'Request' },
  { title: 'Scopes' },
  { title: 'Without a token' },
  { title: 'Requests', isCount: true },
  { title: 'Denied', isCount: true },
  { title: 'Failed', isCount: true },
  { title: 'Tests' },
  { title: 'Team' },
  { title: 'Policy file' },
] as const

function toCells({ lastMinute, tests, ...row }: RouteRow): readonly (Html | string | number)[] {
  const count = (value: number, state: 'notice' | 'wrong') => (value === 0 ? 0 : stateText(state, value))
  return [
    html`<a href="${routeHref(row.name)}">${row.name}</a>${row.enforce === 'report' && html` <span class="badge changes">audit-only</span>`}`,
    html`<code>${row.methods.join(', ')} ${row.path}</code>`,
    row.scopes ?? 'none',
    row.anonymous,
    lastMinute.requests,
    count(lastMinute.denied, 'notice'),
    count(lastMinute.failed, 'wrong'),
    tests === null ? '-' : describeCounts(tests),
    row.owner ?? '-',
    html`<code>${row.place}</code>`,
  ]
}

function pager({ page, pages }: RoutesData, query: URLSearchParams): Html | undefined {
  if (pages === 1) return undefined
  const link = (to: number, text: string) => {
    const target = new URLSearchParams(query)
    target.set('page', String(to))
    return html`<a href="/console/routes?${target.toString()}">${text}</a>`
  }
  return html`<p class="pages">${page > 1 && link(page - 1, 'Previous page')}${page < pages && link(page + 1, 'Next page')}</p>`
}
