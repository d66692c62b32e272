import { styleText } from 'node:util'
import type { ErrorResponse } from '../../gateway/pipeline/error-response.ts'
import { decisionHeaders, type ExplainedSimulation } from '../../gateway/simulate/explain-simulation.ts'
import { type ExplanationRow, explainRows } from '../../gateway/simulate/explanation-rows.ts'
import { redactTarget } from '../../gateway/simulate/redact-target.ts'
import { visibleText } from '../../platform/diagnostics/visible-text.ts'

const LABEL = 10

/** Formats the decision rule by rule, and the response that the client receives. Ends with a line break. */
export function renderExplanation(
  explained: ExplainedSimulation,
  options: { readonly colour: boolean; readonly nowSeconds: number },
): string {
  const rows = explainRows(explained, options.nowSeconds)
  const width = Math.max(0, ...rows.map(([, status]) => status.length))
  const lines = rows.map(([label, status, text]) => {
    const cell = status === '' ? '' : `${paint(status, width, options.colour)}  `
    return `${label.padEnd(LABEL)}${cell}${text}`.trimEnd()
  })
  const { method, target } = explained.simulated
  return `${method} ${redactTarget(target)}\n\n${lines.join('\n')}\n\n${renderOutcome(explained)}`
}

/** Formats only the rows, for a failed test. */
export function renderReasons(rows: readonly ExplanationRow[]): string {
  return rows
    .map(([label, status, text]) =>
      `${label.padEnd(LABEL)}${status === '' ? '' : `${status.padEnd(5)} `}${text}`.trimEnd(),
    )
    .join('\n')
}

function renderOutcome(explained: ExplainedSimulation): string {
  const { decision, response, would } = explained
  if (response !== undefined) return renderResponse(response)
  if (decision.as === 'gateway') return 'local reply of the gateway\n'
  const returned = decisionHeaders(explained).map(([name, value]) => `  ${name}: ${visibleText(value)}\n`)
  const allowed = `allow, as ${decision.as}\n${returned.length === 0 ? '' : `\nthe ingress copies from the 200 response\n${returned.join('')}`}`
  return would === undefined
    ? allowed
    : `${allowed}\nwith enforce: on, the response is\n${renderResponse(would)}`
}

function renderResponse({ status, error, description, challenge, allow }: ErrorResponse): string {
  const headers = [
    ...(challenge === undefined ? [] : [`  WWW-Authenticate: ${challenge}`]),
    ...(allow === undefined ? [] : [`  Allow: ${allow.join(', ')}`]),
  ]
  return `${[`${status} ${error}`, `  ${description}`, ...headers].join('\n')}\n`
}

const COLOURS = { ok: 'green', DENY: 'red', note: 'yellow', 'n/a': 'dim' } as const

function paint(status: Exclude<ExplanationRow[1], ''>, width: number, colour: boolean): string {
  const text = status.padEnd(width)
  return colour ? styleText(COLOURS[status], text, { validateStream: false }) : text
}
