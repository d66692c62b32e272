/** An error prevents the start. Warnings and notes do not prevent the start. */
export type Severity = 'error' | 'warning' | 'note'

/** A position in a source text. Lines and columns count from 1, and a column counts characters, not bytes. */
export type SourceLocation = {
  /** The file as shown to users, or the name of an environment variable. */
  readonly file: string
  readonly line: number | undefined
  readonly column: number | undefined
  /** Number of characters that the caret underlines. */
  readonly length: number
  /** The whole line without its line break. Undefined when the text is unavailable. */
  readonly text: string | undefined
}

/** One problem in a configuration or policy file: the message, its location and a hint. */
export type Diagnostic = {
  /** Stable, e.g. `P101`. The letter is P for policies and C for configuration. */
  readonly code: string
  readonly severity: Severity
  readonly message: string
  readonly location: SourceLocation
  /** Shown on the caret line, e.g. `did you mean "timeout"?`. */
  readonly hint: string | undefined
  /** Other locations of the same problem, e.g. the conflicting route. */
  readonly related: readonly { readonly message: string; readonly location: SourceLocation }[]
}

/** Creates a diagnostic. Default: severity `error`, without a hint. */
export function diagnostic(
  code: string,
  message: string,
  location: SourceLocation,
  more: { severity?: Severity; hint?: string | undefined; related?: Diagnostic['related'] } = {},
): Diagnostic {
  return {
    code,
    severity: more.severity ?? 'error',
    message,
    location,
    hint: more.hint,
    related: more.related ?? [],
  }
}

/** Returns the location of a whole file, for problems without a line. */
export function wholeFile(file: string): SourceLocation {
  return { file, line: undefined, column: undefined, length: 1, text: undefined }
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((one) => one.severity === 'error')
}

/** Sorts by file, line and column, so that the order of a report does not depend on the order of the checks. */
export function sortDiagnostics(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.toSorted(
    (a, b) =>
      compareText(a.location.file, b.location.file) ||
      (a.location.line ?? 0) - (b.location.line ?? 0) ||
      (a.location.column ?? 0) - (b.location.column ?? 0) ||
      compareText(a.code, b.code),
  )
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
