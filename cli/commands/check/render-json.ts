import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count } from './report.ts'

/** Formats a report as JSON (docs/checking.md). New versions can add keys, but existing keys never change. */
export function renderJson(report: CheckReport): string {
  const { problems, notes, sizes, hiddenErrors } = report
  const document = {
    version: 1,
    ok: count(problems, 'error') + hiddenErrors === 0,
    summary: {
      errors: count(problems, 'error'),
      warnings: count(problems, 'warning'),
      notes: notes.length,
      hiddenErrors,
      ...sizes,
      tests: sizes.tests ?? null,
    },
    problems: [...problems, ...notes].map(problemToJson),
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

/** Converts a problem to the JSON format that all verbs share. */
export function problemToJson({ code, severity, message, hint, location, related }: Diagnostic): object {
  return {
    code,
    severity,
    message,
    hint: hint ?? null,
    ...locationToJson(location),
    related: related.map((one) => ({ message: one.message, ...locationToJson(one.location) })),
    page: errorPageAddress(code),
  }
}

function locationToJson({ file, line, column, length }: Diagnostic['location']): object {
  return line === undefined
    ? { file, line: null, column: null, length: null }
    : { file, line, column: column ?? 1, length }
}
