import type { Diagnostic } from '../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../platform/diagnostics/format-diagnostics.ts'

/** So many notes of one code are shown as they are. */
const SHOWN_WHOLE = 2
const PLACES = 3

/** What a note of a code is about, for many of them at once. */
const TITLES: Readonly<Record<string, string>> = {
  N301: 'anonymous callers reach routes',
  N302: 'policies tell what they would refuse, and serve it',
  O105: 'parameters have other names in the policy',
  O108: 'alternatives of security are not taken',
  P111: 'texts that look like patterns are taken as they stand',
}

/**
 * Writes notes so that a check without problems stays short: of more than two with one code, the count and the first places.
 * @returns the text; empty without notes.
 */
export function foldNotes(notes: readonly Diagnostic[], options: { readonly colour: boolean }): string {
  return [...Map.groupBy(notes, ({ code }) => code)]
    .map(([code, group]) => {
      const [first] = group
      if (first === undefined || group.length <= SHOWN_WHOLE) return formatDiagnostics(group, options)
      const places = group.slice(0, PLACES).map(({ place }) => `${place.file}:${place.line ?? 1}`)
      const rest = group.length > PLACES ? ` and ${group.length - PLACES} more` : ''
      const message = `${TITLES[code] ?? first.message}: ${places.join(', ')}${rest} (--notes shows all ${group.length})`
      const nowhere = { file: '', line: undefined, column: undefined, length: 1, text: undefined }
      // The line of what, without the one of where.
      return formatDiagnostics([{ ...first, message, place: nowhere, related: [] }], options).split(
        '\n',
        1,
      )[0]
    })
    .join('\n\n')
}
