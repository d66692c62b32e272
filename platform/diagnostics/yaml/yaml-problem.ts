/** A syntax error in plain words, at the character that has to change. Offsets count UTF-16 units. */
export type SyntaxProblem = {
  /** The three digits of the diagnostic's code. */
  readonly number: string
  readonly message: string
  readonly hint: string | undefined
  readonly start: number
  readonly end: number
  /** What may stand there instead, of the same length, so that parsing once more finds the next problem. */
  readonly repair: Repair | undefined
}

/** A stretch of the text that is put out of the way; line breaks stay where they are. */
export type Repair = { readonly start: number; readonly text: string }

/** One line of a text, without its line break. */
export type Line = { readonly start: number; readonly end: number; readonly text: string }

/** Builds a problem of `length` characters; `instead` is what to parse on with, at `repairAt`. */
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

/** The line that holds a position. */
export function lineAt(text: string, position: number): Line {
  const start = position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1
  const newline = text.indexOf('\n', position)
  const raw = text.slice(start, newline === -1 ? text.length : newline).replace(/\r$/, '')
  return { start, end: start + raw.length, text: raw }
}

/** The next line that says something; undefined at the end of the text. */
export function lineAfter(text: string, line: Line): Line | undefined {
  let next = text.indexOf('\n', line.end)
  while (next !== -1 && next + 1 < text.length) {
    const found = lineAt(text, next + 1)
    if (/^[ \t]*[^\s#]/.test(found.text)) return found
    next = text.indexOf('\n', found.end)
  }
  return undefined
}

/** How many characters stand before the first that is no space. */
export function indentOf(line: Line): number {
  return /^[ \t]*/.exec(line.text)?.[0].length ?? 0
}

/** The line without what indents it and without what trails it. */
export function wordsOf(line: Line): { readonly start: number; readonly length: number } {
  return { start: line.start + indentOf(line), length: Math.max(1, line.text.trim().length) }
}
