import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count, formatCount } from './report.ts'

const COMMANDS = { error: 'error', warning: 'warning', note: 'notice' } as const

/**
 * Formats a report as workflow commands, which GitHub shows at the lines of a pull request.
 * Source: docs.github.com, "Workflow commands for GitHub Actions".
 */
export function renderGithub(
  { problems, notes, hiddenErrors }: CheckReport,
  options: { readonly allNotes: boolean },
): string {
  const lines = [...problems, ...(options.allNotes ? notes : [])].map(toCommand)
  const errors = count(problems, 'error') + hiddenErrors
  return `${[...lines, errors === 0 ? 'ok' : formatCount(errors, 'error')].join('\n')}\n`
}

function toCommand({ severity, code, message, hint, location, related }: Diagnostic): string {
  const properties = Object.entries({
    file: location.file,
    line: location.line,
    col: location.column,
    endColumn: location.column === undefined ? undefined : location.column + location.length,
    title: code,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${escapeProperty(String(value))}`]))
  const text = [
    message,
    ...(hint === undefined ? [] : [hint]),
    ...related.map((one) => `${one.message}: ${one.location.file}:${one.location.line ?? 1}`),
    errorPageAddress(code),
  ].join('\n')
  return `::${COMMANDS[severity]} ${properties.join(',')}::${escapeData(text)}`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
