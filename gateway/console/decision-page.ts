import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { definitions } from '../../platform/pages/state-text.ts'
import type { ConsoleState } from './console-source.ts'
import type { DecisionDetail } from './describe-decision.ts'
import { explainHref } from './explain-href.ts'
import { outcomeLabel } from './outcome-label.ts'
import { routeHref } from './routes-page.ts'

export const DECISION_PATH = '/console/decision'

/** Address of the page of a decision. */
export function decisionHref(requestId: string): string {
  return `${DECISION_PATH}?${new URLSearchParams({ id: requestId })}`
}

type DecisionData = {
  readonly requestId: string
  /** Several decisions if a trusted proxy uses a request ID several times. */
  readonly decisions: readonly (DecisionDetail & { readonly explain: string })[]
}

/** One decision in words, found by its request ID. */
export function decisionPage(state: ConsoleState): ConsolePage<DecisionData> {
  return {
    path: DECISION_PATH,
    title: 'Decision',
    parent: '/console/decisions',
    isStatic: true,
    formTargets: ["'self'"],
    async data(query) {
      const requestId = query.get('id')?.trim() ?? ''
      const found = await state.decisions.find(requestId)
      const decisions = found.map((decision) => ({ ...decision, explain: explainHref(decision) }))
      return { requestId, decisions }
    },
    render({ requestId, decisions }) {
      if (requestId === '') return html`<p>${NO_REQUEST_ID}</p>`
      if (decisions.length === 0) return notFound(requestId)
      return html`<p>Request ID <code>${requestId}</code>${decisions.length > 1 && html`. This request ID occurs ${decisions.length} times. Trusted proxies chose it.`}</p>
${decisions.map(section)}`
    },
  }
}

const NO_REQUEST_ID =
  'Write a request ID in the search field. Each response of the gateway has it in the header X-Request-Id.'

function notFound(requestId: string): Html {
  return html`<p>The gateway has no record of the request ID <code>${requestId}</code>.</p>
<p>The possible reasons:</p>
<ul>
<li>The request was allowed while no page of the console showed decisions.</li>
<li>Newer requests have replaced the record, or its process has ended.</li>
<li>Another gateway received the request.</li>
</ul>
<p>The access log contains each request: search the log for <code>request_id</code>.</p>`
}

function section(decision: DecisionDetail & { readonly explain: string }): Html {
  const { place, response, fix, route, owner, policyHash } = decision
  const facts = [
    ...(owner === null ? [] : [`owner ${owner}`]),
    ...(policyHash === null ? [] : [`policy version ${policyHash}`]),
  ]
  const rows: readonly (readonly [string, Html | string])[] = [
    ['Request', decision.asked],
    ['Time', html`<time>${new Date(decision.timeMs).toISOString()}</time>, from ${decision.clientAddress}`],
    ['Rule', decision.rule],
    [
      'Policy file',
      place === null
        ? 'none: no route of a policy matched'
        : html`<code>${place.file}:${place.line}:${place.column}</code>, route ${route !== null && html`<a href="${routeHref(route)}">${route}</a>`}${facts.map((fact) => `, ${fact}`)}`,
    ],
    ['Response', describeResponse(decision)],
    ...(response?.challenge === undefined
      ? []
      : [['Challenge', html`<code>WWW-Authenticate: ${response.challenge}</code>`] as const]),
    ['The client must', fix.client],
    ['The policy owner can', withCode(fix.policyOwner)],
  ]
  return html`<section><h2>${outcomeLabel(decision.outcome)}: ${decision.code ?? decision.status}</h2>
${definitions(rows)}
${decision.code !== null && html`<p>About this code: ${docLink('rejections.md')}</p>`}
${decision.method !== null && decision.path !== null && html`<p><a href="${decision.explain}">Explain this request with the active policies</a></p>`}
</section>`
}

/** Renders the text between backticks as code. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 0 ? part : html`<code>${part}</code>`))}`
}

function describeResponse({ outcome, status, response }: DecisionDetail): string {
  if (response === null) return `${status}`
  if (outcome === 'report')
    return `${status}. With enforce: on, the response would be ${response.status} ${response.error}: ${response.description}`
  const sent = status === response.status ? `${status}` : `${status} (the gateway decided ${response.status})`
  return `${sent} ${response.error}: ${response.description}`
}
