import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { live } from '../../platform/pages/console-page.ts'
import { countText } from '../../platform/pages/count-text.ts'
import { filterDisclosure } from '../../platform/pages/filter-disclosure.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { table } from '../../platform/pages/table.ts'
import type { ConsoleState } from './console-source.ts'
import { decisionHref } from './decision-page.ts'
import { type DecisionFilter, type DecisionSummary, FILTER_NAMES, OUTCOMES } from './decision-summary.ts'
import { outcomeLabel } from './outcome-label.ts'
import { routeHref } from './routes-page.ts'
import { type DecisionList, MAX_ROWS } from './worker-console.ts'

/** The last decisions, with filters. While the page is open, the gateway also records allowed requests. */
export function decisionsPage(state: ConsoleState): ConsolePage<DecisionList> {
  return {
    path: '/console/decisions',
    title: 'Decisions',
    formTargets: ["'self'"],
    data: (query) => state.decisions.list(readFilter(query)),
    watch: () => state.decisions.watch(),
    render(data, query) {
      return html`<p>The gateway keeps the last rejected requests of each process. It records allowed requests only while this page is open.</p>
${filterDisclosure(filterForm(query), query, FILTER_NAMES)}
${live('decisions', html`${summary(data)}${data.decisions.length > 0 && table(COLUMNS, data.decisions.map(toCells))}`)}`
    },
  }
}

function readFilter(query: URLSearchParams): DecisionFilter {
  return Object.fromEntries(
    FILTER_NAMES.map((name) => [name, query.get(name)?.trim() ?? '']),
  ) as DecisionFilter
}

function summary({ decisions, recorded, leftOut }: DecisionList): Html {
  const shown =
    decisions.length === MAX_ROWS
      ? `The newest ${MAX_ROWS} decisions`
      : countText(decisions.length, 'decision')
  const lacking =
    leftOut === 0 ? '' : ` Allowed requests that were not recorded, because too many arrived: ${leftOut}.`
  return html`<p>${shown} of ${recorded} recorded.${lacking}</p>`
}

const FIELDS = {
  path: 'Path contains',
  method: 'Method',
  status: 'Status (403 or 4xx)',
  code: 'Code or reason',
  route: 'Route contains',
  file: 'Policy file contains',
  client: 'Client ID or address',
  subject: 'Subject, as in the log',
} as const satisfies Readonly<Record<Exclude<keyof DecisionFilter, 'outcome'>, string>>

function filterForm(query: URLSearchParams): Html {
  const field = ([name, label]: readonly [string, string]) =>
    html`<p><label for="filter-${name}">${label}</label><input type="search" id="filter-${name}" name="${name}" value="${query.get(name) ?? ''}"></p>`
  const option = (outcome: string) =>
    html`<option value="${outcome}"${query.get('outcome') === outcome && html` selected`}>${outcome}</option>`
  return html`<form class="filter" action="/console/decisions" method="get">
<p><label for="filter-outcome">Outcome</label><select id="filter-outcome" name="outcome"><option value="">all</option>${OUTCOMES.map(option)}</select></p>
${Object.entries(FIELDS).map(field)}
<p><button type="submit">Filter</button></p>
</form>`
}

const COLUMNS = [
  { title: 'Time (UTC)' },
  { title: 'Outcome' },
  { title: 'Status', isCount: true },
  { title: 'Code' },
  { title: 'Request' },
  { title: 'Route' },
  { title: 'Client' },
  { title: 'Request ID' },
] as const

function toCells(row: DecisionSummary): readonly (Html | string | number)[] {
  const { requestId, timeMs, outcome, status, code, method, path, route, client, clientAddress } = row
  return [
    html`<time>${new Date(timeMs).toISOString().slice(11, 23)}</time>`,
    outcomeLabel(outcome),
    status,
    html`<span class="words">${code ?? '-'}</span>`,
    html`<code>${method ?? '-'} ${shorten(path ?? '-')}</code>`,
    route === null ? '-' : html`<a href="${routeHref(route)}">${route}</a>`,
    shorten(client ?? clientAddress),
    html`<a href="${decisionHref(requestId)}"><code>${requestId}</code></a>`,
  ]
}

const MAX_CHARACTERS = 120

/** Shortens a text that a client has chosen. The page of the decision shows the whole text. */
function shorten(text: string): string {
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`
}
