import { styleText } from 'node:util'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { isRecord } from '../../../platform/diagnostics/record.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import type { HintOf } from './hints.ts'

/**
 * Formats a line of a service's log for a terminal. Shows decisions, issued tokens, failed requests and policy reloads
 * of the gateway, warnings and errors of every service, and lines that are not JSON. Skips all other lines.
 * @param hint returns a line below a decision. Default: none.
 * @returns the line, or undefined for a skipped line.
 */
export function formatLogLine(
  service: string,
  line: string,
  hint: HintOf = () => undefined,
): string | undefined {
  const entry = parse(line)
  if (entry === undefined) return line.trim() === '' ? undefined : `${service}: ${line}`
  if (entry['event'] === 'access')
    return service === 'gateway' && !isStep(entry) ? withHint(formatDecision(entry), hint(entry)) : undefined
  if (entry['event'] === 'policy_reloaded')
    return `${styleText('green', 'policies')}  ${String(entry['msg'])}: ${String(entry['routes'])} routes`
  if (entry['level'] !== 'warn' && entry['level'] !== 'error' && entry['level'] !== 'fatal') return undefined
  const error = entry['err']
  const cause = isRecord(error) ? error['message'] : entry['reason']
  const detail = typeof cause === 'string' ? `: ${cause}` : ''
  const label = entry['level'] === 'warn' ? styleText('yellow', 'warning') : styleText('red', 'error')
  // `diagnostics` contains the problems in edited policies, with their source lines.
  const shown = typeof entry['diagnostics'] === 'string' ? `\n\n${entry['diagnostics']}\n` : ''
  const problem = `${label}  ${service}: ${String(entry['msg'] ?? entry['event'] ?? '')}${detail}${shown}`
  return withHint(problem, typeof entry['remedy'] === 'string' ? entry['remedy'] : undefined)
}

/** Returns true for a successful request without a decision: a page, or a step of OAuth before the token. */
function isStep(entry: Readonly<Record<string, unknown>>): boolean {
  const isSuccessful = Number(entry['http.response.status_code']) < 400
  return isSuccessful && entry['auth.decision'] === undefined && entry['url.path'] !== ENDPOINTS.token
}

function withHint(line: string, hint: string | undefined): string {
  return hint === undefined ? line : `${line}\n${' '.repeat(10)}${styleText('yellow', hint)}`
}

function formatDecision(entry: Readonly<Record<string, unknown>>): string {
  const status = Number(entry['http.response.status_code'])
  const decision = String(entry['auth.decision'] ?? '-')
  const reason = entry['auth.reason'] === undefined ? '' : `  ${String(entry['auth.reason'])}`
  const colour = decision === 'allow' ? 'green' : decision === '-' ? 'dim' : 'red'
  const who = entry['auth.client_id'] === undefined ? '' : `  client ${String(entry['auth.client_id'])}`
  const missing = Array.isArray(entry['auth.scopes_missing'])
    ? `  needs ${entry['auth.scopes_missing'].join(' ')}`
    : ''
  const place = entry['policy.place'] === undefined ? '' : `  ${visibleText(String(entry['policy.place']))}`
  const sender =
    status >= 400 && entry['upstream.status'] === status ? `  sent by ${String(entry['upstream'])}` : ''
  return [
    styleText('dim', String(entry['time'] ?? '').slice(11, 19)),
    styleText(colour, decision.padEnd(9)),
    styleText(status < 400 ? 'green' : status < 500 ? 'yellow' : 'red', String(status)),
    `${String(entry['http.request.method'] ?? '-')} ${String(entry['url.path'] ?? '(no path)')}`,
    styleText(
      'dim',
      `${String(entry['route'] ?? '-')}${reason}${who}${missing}${place}${sender}  ${String(entry['duration_ms'])} ms`,
    ),
  ].join('  ')
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
