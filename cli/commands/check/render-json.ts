import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import type { OpenedSource } from '../../opened-source.ts'
import { errorPageAddress } from './error-page.ts'
import { type CheckReport, count, sourceOfFile } from './report.ts'

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
    ...(report.sources.length === 0 ? {} : { sources: report.sources.map(sourceToJson) }),
    problems: [...problems, ...notes].map((one) => {
      const found = sourceOfFile(report, one.location.file)
      const owned = found && { source: found.source.name, owner: found.source.owner ?? null }
      return { ...problemToJson(one), ...owned }
    }),
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function sourceToJson({ source, state }: OpenedSource): object {
  const { name, owner } = source
  const { version, routes, errors, pathPrefixes } = state
  return {
    name,
    owner: owner ?? null,
    state: state.state === 'valid' ? 'valid' : 'invalid',
    version: version ?? null,
    routes,
    pathPrefixes,
    errors: errors.length,
  }
}

/** Converts a problem to the JSON format that all commands share. */
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
