import type { ConsolePage } from '../../platform/pages/console-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type PageState, stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import type { ExplanationRow } from '../simulate/explanation-rows.ts'
import type { ConsoleState } from './console-source.ts'
import type { ExplainForm, ExplainResult } from './explain-form.ts'
import { EXPLAIN_PATH } from './explain-href.ts'

type ExplainData = { readonly form: ExplainForm; readonly result: ExplainResult | null }

/** Explains a request with the active policies. The form sends no request and takes no token. */
export function explainPage(state: ConsoleState): ConsolePage<ExplainData> {
  return {
    path: EXPLAIN_PATH,
    title: 'Explain',
    isStatic: true,
    formTargets: ["'self'"],
    async data(query) {
      const form = readForm(query)
      if (form.path === '') return { form, result: null }
      return { form, result: (await state.decisions.explain(form)) ?? NO_REPLY }
    },
    render: ({ form, result }) =>
      html`<p>This page shows how the gateway decides a request with its active policies. It sends no request.</p>
${formOf(form)}${result !== null && resultOf(result)}`,
  }
}

const NO_REPLY: ExplainResult = { problem: 'No process replied in time. Try again.' }
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

function readForm(query: URLSearchParams): ExplainForm {
  const text = (name: string) => query.get(name) ?? ''
  const mode = text('mode')
  const isValid = text('token') === 'valid'
  return {
    method: text('method') || 'GET',
    path: text('path').trim(),
    token: isValid ? 'valid' : 'none',
    scopes: text('scopes'),
    claims: text('claims'),
    headers: text('headers'),
    mode: mode === 'proxy' || mode === 'decision' ? mode : '',
  }
}

function formOf(form: ExplainForm): Html {
  const option = (value: string, label: string, selected: string) =>
    html`<option value="${value}"${value === selected && html` selected`}>${label}</option>`
  const methods = METHODS.includes(form.method) ? METHODS : [...METHODS, form.method]
  return html`<form class="filter" action="${EXPLAIN_PATH}" method="get">
<p><label for="explain-method">Method</label><select id="explain-method" name="method">${methods.map((one) => option(one, one, form.method))}</select></p>
<p class="wide"><label for="explain-path">Path, with the query</label><input type="text" id="explain-path" name="path" value="${form.path}" required placeholder="/api/courses/42"></p>
<p><label for="explain-token">Token</label><select id="explain-token" name="token">${option('none', 'no token', form.token)}${option('valid', 'valid token', form.token)}</select></p>
<p class="wide"><label for="explain-scopes">Scopes, separated by spaces</label><input type="text" id="explain-scopes" name="scopes" value="${form.scopes}"></p>
<p><label for="explain-mode">Mode</label><select id="explain-mode" name="mode">${option('', 'all routes', form.mode)}${option('proxy', 'proxy', form.mode)}${option('decision', 'decision endpoint', form.mode)}</select></p>
<p class="wide"><label for="explain-claims">Claims, one NAME=VALUE per line</label><textarea id="explain-claims" name="claims" rows="3">
${form.claims}</textarea></p>
<p class="wide"><label for="explain-headers">Headers, one NAME=VALUE per line</label><textarea id="explain-headers" name="headers" rows="3">
${form.headers}</textarea></p>
<p><button type="submit">Explain</button></p>
</form>`
}

const COLUMNS = [{ title: 'Rule' }, { title: 'Result' }, { title: 'Details' }] as const
const STATES: Partial<Record<string, PageState>> = { ok: 'ok', DENY: 'wrong', note: 'notice' }

function resultText(status: string): Html | string {
  const state = STATES[status]
  return state === undefined ? status : stateText(state, status)
}

/** Returns a table with the rules of an explanation. */
export function explanationTable(rows: readonly ExplanationRow[]): Html {
  return table(
    COLUMNS,
    rows.map(([label, status, text]) => [label, resultText(status), text]),
  )
}

function resultOf(result: ExplainResult): Html {
  if ('problem' in result) return html`<div class="wrong" role="alert"><p>${result.problem}</p></div>`
  const { rows, copied, explanation } = result
  return html`<section aria-labelledby="explain-result"><h2 id="explain-result">${explanation.request.method} ${explanation.request.target}: ${explanation.decision}</h2>
${outcome(explanation)}
${explanationTable(rows)}
${copied.length > 0 && html`<h3>Headers that the ingress copies</h3><pre>${copied.map(([name, value]) => `${name}: ${value}\n`).join('')}</pre>`}
</section>`
}

function outcome({
  route,
  as,
  answer,
  would,
}: Exclude<ExplainResult, { problem: string }>['explanation']): Html {
  const source = route?.source
  return html`${source !== undefined && html`<p>Policy file <code>${source.file}:${source.line}:${source.column}</code></p>`}
${answer === null ? html`<p>${as === 'gateway' ? 'The gateway itself responds.' : `Allowed, as ${as}.`}</p>` : responseOf('Response', answer)}
${would !== null && responseOf('Response with enforce: on', would)}`
}

function responseOf(
  title: string,
  {
    status,
    error,
    description,
    challenge,
    allow,
  }: NonNullable<Exclude<ExplainResult, { problem: string }>['explanation']['answer']>,
): Html {
  return html`<p>${title}: <strong>${status} ${error}</strong>. ${description}</p>
${challenge !== null && html`<pre>WWW-Authenticate: ${challenge}</pre>`}
${allow !== null && html`<pre>Allow: ${allow.join(', ')}</pre>`}`
}
