import { missingColon, missingSpace } from './yaml-colons.ts'
import {
  indentOf,
  type Line,
  lineAfter,
  lineAt,
  problem,
  type SyntaxProblem,
  wordsOf,
} from './yaml-problem.ts'
import { needsQuotes, unclosedQuotedKey } from './yaml-quotes.ts'

/** Explains text at the position of a key: a missing space, an extra colon, or an indentation that is too deep. */
export function notAKey(text: string, position: number, message: string): SyntaxProblem {
  const line = lineAt(text, position)
  const missing = missingSpace(text, line)
  if (missing !== undefined) return missing
  if (message.startsWith('A block sequence')) return misaligned(text, position)
  const rest = text.slice(position, line.end)
  if (/^["']/.test(rest) && !closesInLine(rest)) return unclosedQuotedKey(text, position)
  if (rest.includes(': '))
    return needsQuotes(text, position, 'a value that contains ": " needs quotes', line.end)
  // Only indentation and dashes precede the position, so this line should be the key.
  if (/^[ \t]*(?:- +)*$/.test(text.slice(line.start, position))) return missingColon(text, line)
  const next = lineAfter(text, line)
  if (next === undefined) return problem('010', 'this is not a key or a value', undefined, position)
  const { start, length } = wordsOf(next)
  const above = `as ${keyOf(line) ?? 'the line above'}`
  return problem(
    '012',
    'this line is indented deeper than the key above it',
    `indent it by ${spaces(indentOf(line) + dashOf(line))}, ${above}`,
    start,
    length,
    ...blockOut(text, next),
  )
}

/** Explains a line whose indentation matches no line above it. */
export function misaligned(text: string, position: number): SyntaxProblem {
  const found = lineAt(text, position)
  // The parser reports the end of the map above, which includes empty lines and comments.
  const line = /^[ \t]*[^\s#]/.test(found.text) ? found : (lineAfter(text, found) ?? found)
  const missing = /^\s*-/.test(line.text) && !/^\s*-\S/.test(line.text) ? undefined : missingSpace(text, line)
  if (missing !== undefined) return missing
  const { start, length } = wordsOf(line)
  if (/^[ \t]*- /.test(line.text) && isAmongKeys(text, line))
    return problem(
      '012',
      'a list item cannot be among the keys of a map',
      'remove its dash, or begin the lines above with "- " too',
      start,
      length,
      ...blockOut(text, line),
    )
  return problem(
    '012',
    'the indentation of this line matches no line above',
    nearestAbove(text, line),
    start,
    length,
    ...blockOut(text, line),
  )
}

/** Explains a first key with indentation when the keys below it have none. */
export function indentedStart(text: string, position: number): SyntaxProblem | undefined {
  const line = lineAt(text, position)
  const first = /^[ \t]*[^\s#]/.test(lineAt(text, 0).text)
    ? lineAt(text, 0)
    : lineAfter(text, lineAt(text, 0))
  if (first === undefined || first.start >= line.start || indentOf(first) <= indentOf(line)) return undefined
  const { start, length } = wordsOf(first)
  const by = indentOf(first)
  return problem(
    '012',
    'the first key is indented, but the keys below it are not',
    'remove its indentation',
    start,
    length,
    'x'.repeat(by),
    first.start,
  )
}

/** Returns true when the nearest line above with at most the same indentation has the same indentation and is a key. */
function isAmongKeys(text: string, line: Line): boolean {
  for (let end = line.start - 1, looked = 0; end >= 0 && looked < 1_000; looked++) {
    const above = lineAt(text, end)
    end = above.start - 1
    if (!/^[ \t]*[^\s#]/.test(above.text) || indentOf(above) > indentOf(line)) continue
    return indentOf(above) === indentOf(line) && dashOf(above) === 0 && keyOf(above) !== undefined
  }
  return false
}

/** Suggests the indentation of the nearest open key above. */
function nearestAbove(text: string, line: Line): string {
  const own = indentOf(line)
  let limit = Number.POSITIVE_INFINITY
  let best: { readonly indent: number; readonly key: string } | undefined
  let looked = 0
  for (let end = line.start - 1; end >= 0 && limit > 0 && looked < 1_000; looked++) {
    const above = lineAt(text, end)
    end = above.start - 1
    if (!/^[ \t]*[^\s#]/.test(above.text)) continue
    const candidates = [indentOf(above) + dashOf(above), indentOf(above)]
    for (const [index, indent] of candidates.entries()) {
      const key = index === 0 ? keyOf(above) : undefined
      if (indent >= limit || (key === undefined && dashOf(above) === 0)) continue
      limit = indent
      if (best === undefined || Math.abs(indent - own) < Math.abs(best.indent - own))
        best = { indent, key: key ?? 'the dash above' }
    }
  }
  return best === undefined
    ? 'indent it like the other keys of its map'
    : `indent it by ${spaces(best.indent)}, as ${best.key}`
}

/** Blanks a line and the following lines with the same or deeper indentation. They are part of one mistake. */
function blockOut(text: string, line: Line): [instead: string | undefined, at: number] {
  const from = indentOf(line)
  let end = line.end
  for (let next = lineAfter(text, line); next !== undefined && indentOf(next) >= from; ) {
    end = next.end
    next = lineAfter(text, next)
  }
  const { start } = wordsOf(line)
  return [text.slice(start, end).replace(/[^\r\n]/g, ' '), start]
}

function closesInLine(rest: string): boolean {
  return rest.slice(1).includes(rest.charAt(0))
}

/** Returns the width of `- ` before a key. All keys of one item start at the same column. */
function dashOf(line: Line): number {
  return /^[ \t]*((?:- +)+)/.exec(line.text)?.[1]?.length ?? 0
}

function keyOf(line: Line): string | undefined {
  return /^[ \t]*(?:- +)*"?([A-Za-z_][\w-]*)"?:(?:\s|$)/.exec(line.text)?.[1]
}

function spaces(count: number): string {
  return count === 0 ? 'no spaces' : count === 1 ? '1 space' : `${count} spaces`
}
