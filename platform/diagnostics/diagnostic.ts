/** Errors stop a start; warnings and notes are shown and nothing else. */
export type Severity = 'error' | 'warning' | 'note'

/** Where something is written. Lines and columns count from 1; a column counts characters, not bytes. */
export type SourceLocation = {
  /** The file as people should see it, or the name of an environment variable. */
  readonly file: string
  readonly line: number | undefined
  readonly column: number | undefined
  /** How many characters the caret underlines. */
  readonly length: number
  /** The whole line, without its line break; undefined when there is nothing to show. */
  readonly text: string | undefined
}

/** One thing that is wrong in what people wrote, where, and what to write instead. */
export type Diagnostic = {
  /** Stable, e.g. `P101`; the letter is P for policies and C for configuration. */
  readonly code: string
  readonly severity: Severity
  readonly message: string
  readonly place: SourceLocation
  /** Stands on the caret line, e.g. `did you mean "timeout"?`. */
  readonly hint: string | undefined
  /** The other places that take part, e.g. the route that this one collides with. */
  readonly related: readonly { readonly message: string; readonly place: SourceLocation }[]
}

/** Builds a diagnostic; an error without hint unless said otherwise. */
export function diagnostic(
  code: string,
  message: string,
  place: SourceLocation,
  more: { severity?: Severity; hint?: string | undefined; related?: Diagnostic['related'] } = {},
): Diagnostic {
  return {
    code,
    severity: more.severity ?? 'error',
    message,
    place,
    hint: more.hint,
    related: more.related ?? [],
  }
}

/** The place of a whole file, when there is no line to point at. */
export function wholeFile(file: string): SourceLocation {
  return { file, line: undefined, column: undefined, length: 1, text: undefined }
}

/** @returns true when something is wrong enough not to start. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((one) => one.severity === 'error')
}

/** Sorts by file, line and column, so that a report reads from top to bottom and never depends on who checked first. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.toSorted(
    (a, b) =>
      compareText(a.place.file, b.place.file) ||
      (a.place.line ?? 0) - (b.place.line ?? 0) ||
      (a.place.column ?? 0) - (b.place.column ?? 0) ||
      compareText(a.code, b.code),
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
