import type { Diagnostic } from '../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../platform/diagnostics/format-diagnostics.ts'

/** Maximum number of complete notes per code in the output. */
const SHOWN_WHOLE = 2
const SHOWN_LOCATIONS = 3

/** Titles for several notes with the same code. */
const TITLES: Readonly<Record<string, string>> = {
  N301: 'anonymous callers reach routes',
  N302: 'policies are audit-only',
  O105: 'parameters have other names in the policy',
  O108: 'alternatives of security are not used',
  P111: 'literal texts look like patterns',
}

/**
 * Formats notes so that the output of a successful check stays short. For more than two notes with one code, the text
 * contains the count and the first locations.
 * @returns the text; empty without notes.
 */
export function foldNotes(notes: readonly Diagnostic[], options: { readonly colour: boolean }): string {
  return [...Map.groupBy(notes, ({ code }) => code)]
    .map(([code, group]) => {
      const [first] = group
      if (first === undefined || group.length <= SHOWN_WHOLE) return formatDiagnostics(group, options)
      const locations = group
        .slice(0, SHOWN_LOCATIONS)
        .map(({ location }) => `${location.file}:${location.line ?? 1}`)
      const rest = group.length > SHOWN_LOCATIONS ? ` and ${group.length - SHOWN_LOCATIONS} more` : ''
      const message = `${TITLES[code] ?? first.message}: ${locations.join(', ')}${rest} (--notes shows all ${group.length})`
      const nowhere = { file: '', line: undefined, column: undefined, length: 1, text: undefined }
      // Keeps the line with the message and removes the line with the location.
      return formatDiagnostics([{ ...first, message, location: nowhere, related: [] }], options).split(
        '\n',
        1,
      )[0]
    })
    .join('\n\n')
}
