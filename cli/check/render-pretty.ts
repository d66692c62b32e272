import { formatDiagnostics } from '../../runtime/format-diagnostics.ts'
import { foldNotes } from '../fold-notes.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count, inWords } from './report.ts'

const PAGES_NAMED = 3

/** A report for people: every problem with its place, then what it comes to, in one line. */
export function renderPretty(
  { problems, notes, sizes }: CheckReport,
  options: { readonly colour: boolean; readonly allNotes: boolean },
): string {
  const shown = [
    formatDiagnostics(problems, options),
    options.allNotes ? formatDiagnostics(notes, options) : foldNotes(notes, options),
  ].filter((text) => text !== '')
  const [errors, warnings] = [count(problems, 'error'), count(problems, 'warning')]
  const warned = warnings > 0 ? inWords(warnings, 'warning') : undefined
  const policies = sizes.policies === 1 ? '1 policy' : `${sizes.policies} policies`
  const sum =
    errors > 0
      ? [inWords(errors, 'error'), ...(warned === undefined ? [] : [warned])].join(', ')
      : `ok: ${policies}, ${inWords(sizes.routes, 'route')}, ${sizes.scopesUsed} of ${inWords(sizes.scopes, 'scope')} used${warned === undefined ? '' : `; ${warned}`}`
  return `${[...shown, sum].join('\n\n')}\n${namePages(problems.map(({ code }) => code))}`
}

/** Where the codes are explained. */
function namePages(all: readonly string[]): string {
  const codes = [...new Set(all)]
  const [first] = codes
  if (first === undefined) return ''
  const pages = codes.slice(0, PAGES_NAMED).map(errorPageAddress).join(', ')
  const rest = codes.length > PAGES_NAMED ? ', …' : ''
  return `explained in ${pages}${rest}; \`scopegate check --explain ${first}\` shows it here\n`
}
