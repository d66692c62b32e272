import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Diagnostic, SourceLocation } from '../../../platform/diagnostics/diagnostic.ts'
import { readErrorPage } from './error-page.ts'
import type { CheckReport } from './report.ts'

/**
 * Formats a report as SARIF 2.1.0 for code scanning services. Each rule contains its documentation page.
 * Source: OASIS SARIF 2.1.0, sections 3.13 to 3.30.
 */
export function renderSarif({ problems, notes }: CheckReport, version: string): string {
  const all = [...problems, ...notes]
  const codes = [...new Set(all.map(({ code }) => code))].toSorted()
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'scopegate', semanticVersion: version, rules: codes.map(toRule) } },
        // Columns count characters, not UTF-16 code units. Section 3.14.17.
        columnKind: 'unicodeCodePoints',
        results: all.map((one) => toResult(one, codes.indexOf(one.code))),
      },
    ],
  }
  return `${JSON.stringify(log, undefined, 2)}\n`
}

function toRule(code: string): object {
  const page = readErrorPage(code)
  if (page === undefined) return { id: code }
  return {
    id: code,
    shortDescription: { text: page.title },
    help: { text: page.text, markdown: page.text },
  }
}

function toResult(
  { code, severity, message, hint, location, related }: Diagnostic,
  ruleIndex: number,
): object {
  const found = toLocation(location)
  return {
    ruleId: code,
    ruleIndex,
    level: severity,
    message: { text: hint === undefined ? message : `${message}: ${hint}` },
    // A value from an environment variable has no file.
    locations: found === undefined ? [] : [found],
    ...(related.length === 0
      ? {}
      : {
          relatedLocations: related.flatMap((one, id) => {
            const other = toLocation(one.location)
            return other === undefined ? [] : [{ id, ...other, message: { text: one.message } }]
          }),
        }),
  }
}

function toLocation({ file, line, column, length, text }: SourceLocation): object | undefined {
  if (file.startsWith('environment variable ')) return undefined
  const start = column ?? 1
  const region =
    line === undefined
      ? undefined
      : {
          startLine: line,
          startColumn: start,
          endColumn: start + length,
          ...(text === undefined ? {} : { snippet: { text } }),
        }
  const uri = isAbsolute(file) ? pathToFileURL(file).href : file.split('/').map(encodeURIComponent).join('/')
  return {
    physicalLocation: { artifactLocation: { uri }, ...(region === undefined ? {} : { region }) },
  }
}
