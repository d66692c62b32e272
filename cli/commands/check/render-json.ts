import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count } from './report.ts'

/** A report for programs; its form is described in docs/checking.md. Keys are added to it, and never change. */
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

/** One problem, as every verb with `--json` tells it. */
export function problemToJson({ code, severity, message, hint, place, related }: Diagnostic): object {
  return {
    code,
    severity,
    message,
    hint: hint ?? null,
    ...placeToJson(place),
    related: related.map((one) => ({ message: one.message, ...placeToJson(one.place) })),
    page: errorPageAddress(code),
  }
}

function placeToJson({ file, line, column, length }: Diagnostic['place']): object {
  return line === undefined
    ? { file, line: null, column: null, length: null }
    : { file, line, column: column ?? 1, length }
}
