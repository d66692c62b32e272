import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'
import { foldNotes } from '../../fold-notes.ts'
import type { OpenedSource } from '../../opened-source.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count, formatCount, isTestFailure } from './report.ts'

const PAGES_NAMED = 3

/**
 * Formats a report for a terminal: problems and notes, one line per policy source, a summary, and the pages of the
 * codes.
 */
export function renderPretty(
  report: CheckReport,
  options: { readonly colour: boolean; readonly allNotes: boolean },
): string {
  const { problems, notes } = report
  const shown = [
    formatDiagnostics(problems, options),
    options.allNotes ? formatDiagnostics(notes, options) : foldNotes(notes, options),
  ].filter((text) => text !== '')
  const sum = [...report.sources.map(describeSource), summarise(report)].join('\n')
  return `${[...shown, sum].join('\n\n')}\n${namePages(problems.map(({ code }) => code))}`
}

function describeSource({ source, state }: OpenedSource): string {
  const owner = source.owner === undefined ? '' : ` (owner ${source.owner})`
  const result =
    state.state === 'valid' ? formatCount(state.routes, 'route') : formatCount(state.errors.length, 'error')
  return visibleText(`source ${source.name}${owner}: ${result}`)
}

/** Formats the sums of a report in one line. */
export function summarise({ problems, hiddenErrors, sizes }: CheckReport): string {
  const failed = problems.filter(isTestFailure).length
  const errors = count(problems, 'error') - failed
  const warnings = count(problems, 'warning')
  const said = [
    ...(errors > 0 ? [formatCount(errors, 'error')] : []),
    ...(hiddenErrors > 0 ? [`${formatCount(hiddenErrors, 'error')} in other files`] : []),
    ...(failed > 0 ? [`${failed} of ${formatCount(sizes.tests ?? 0, 'test')} failed`] : []),
  ]
  const warned = warnings > 0 ? [formatCount(warnings, 'warning')] : []
  if (said.length > 0) return [...said, ...warned].join(', ')
  const policies = sizes.policies === 1 ? '1 policy' : `${sizes.policies} policies`
  const scopes = `${sizes.scopesUsed} of ${formatCount(sizes.scopes, 'scope')} used`
  const tests = sizes.tests === undefined ? [] : [testsInWords(sizes.tests)]
  const ok = `ok: ${[policies, formatCount(sizes.routes, 'route'), scopes, ...tests].join(', ')}`
  return [ok, ...warned].join('; ')
}

function testsInWords(tests: number): string {
  return tests === 0 ? 'no tests' : `${formatCount(tests, 'test')} passed`
}

/** Names at most three pages that explain the codes. Empty without codes. */
function namePages(all: readonly string[]): string {
  const codes = [...new Set(all)]
  const [first] = codes
  if (first === undefined) return ''
  const pages = codes.slice(0, PAGES_NAMED).map(errorPageAddress).join(', ')
  const rest = codes.length > PAGES_NAMED ? ', …' : ''
  return `explained in ${pages}${rest}; \`scopegate check --explain ${first}\` shows the explanation here\n`
}
