/** A syntax error at the character that has to change. Offsets count UTF-16 units. */
export type SyntaxProblem = {
  /** The three digits of the diagnostic's code. */
  readonly number: string
  readonly message: string
  readonly hint: string | undefined
  readonly start: number
  readonly end: number
  /** Replacement of the same length, so that the next parse finds the next problem. */
  readonly repair: Repair | undefined
}

/** A replacement for a range of the text. Line breaks stay unchanged. */
export type Repair = { readonly start: number; readonly text: string }

/** One line of a text, without its line break. */
export type Line = { readonly start: number; readonly end: number; readonly text: string }

/** Creates a problem of `length` characters. `instead` is the replacement for the next parse, at `repairAt`. */
export function problem(
  number: string,
  message: string,
  hint: string | undefined,
  start: number,
  length = 1,
  instead?: string,
  repairAt: number = start,
): SyntaxProblem {
  const repair = instead === undefined ? undefined : { start: repairAt, text: instead }
  return { number, message, hint, start, end: start + length, repair }
}

export function lineAt(text: string, position: number): Line {
  const start = position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1
  const newline = text.indexOf('\n', position)
  const raw = text.slice(start, newline === -1 ? text.length : newline).replace(/\r$/, '')
  return { start, end: start + raw.length, text: raw }
}

/** Returns the next line that is neither empty nor a comment. Undefined at the end of the text. */
export function lineAfter(text: string, line: Line): Line | undefined {
  let next = text.indexOf('\n', line.end)
  while (next !== -1 && next + 1 < text.length) {
    const found = lineAt(text, next + 1)
    if (/^[ \t]*[^\s#]/.test(found.text)) return found
    next = text.indexOf('\n', found.end)
  }
  return undefined
}

/** Returns the number of spaces and tabs at the start of the line. */
export function indentOf(line: Line): number {
  return /^[ \t]*/.exec(line.text)?.[0].length ?? 0
}

/** Returns the range of the line without leading and trailing spaces. */
export function wordsOf(line: Line): { readonly start: number; readonly length: number } {
  return { start: line.start + indentOf(line), length: Math.max(1, line.text.trim().length) }
}
