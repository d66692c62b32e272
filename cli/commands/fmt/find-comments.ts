import { Lexer } from 'yaml'

export type Comment = {
  /** With its `#`, without trailing spaces. */
  readonly text: string
  /** UTF-16 units. */
  readonly start: number
  readonly column: number
  /** True when the line contains only the comment. */
  readonly isOwnLine: boolean
  readonly blankBefore: boolean
}

/** Tokens of the lexer that represent no character of the text. */
const MARKS = new Set(['\u0002', '\u0018', '\u001f'])
const SCALAR_MARK = '\u001f'

/** Finds all comments with the YAML lexer, which ignores `#` within texts. */
export function findComments(text: string): readonly Comment[] {
  const comments: Comment[] = []
  let start = 0
  let isScalar = false
  for (const token of new Lexer().lex(text)) {
    if (MARKS.has(token)) {
      isScalar = token === SCALAR_MARK
      continue
    }
    if (token.startsWith('#') && !isScalar) {
      const lineStart = text.lastIndexOf('\n', start - 1) + 1
      const isOwnLine = text.slice(lineStart, start).trim() === ''
      comments.push({
        text: token.trimEnd(),
        start,
        column: start - lineStart,
        isOwnLine,
        blankBefore: isOwnLine && /\n[ \t]*\n$/.test(text.slice(0, lineStart)),
      })
    }
    isScalar = false
    start += token.length
  }
  return comments
}
