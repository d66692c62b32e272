import type { YAMLError } from 'yaml'
import { missingColon, missingSpace } from './yaml-colons.ts'
import { indentedStart, misaligned, notAKey } from './yaml-indentation.ts'
import { lineAt, problem, type SyntaxProblem } from './yaml-problem.ts'
import { blockHeader, needsQuotes, unclosedQuote } from './yaml-quotes.ts'

/**
 * Converts a YAML parser error into a correction. The parser reports grammar rules, but users need the text to type.
 */
export function explainYamlError(error: YAMLError, text: string): SyntaxProblem {
  const [position] = error.pos
  const { message } = error
  const character = text.charAt(position)
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return problem('011', 'a tab indents this line', 'use spaces', position, 1, ' ')
    case 'KEY_OVER_1024_CHARS':
      return problem('010', 'a key must be at most 1024 characters', 'shorten it', position)
    case 'RESOURCE_EXHAUSTION':
      return excessiveNesting(text, position)
    case 'BAD_SCALAR_START':
      return needsQuotes(text, position, `a value cannot start with ${character}`)
    case 'BAD_ALIAS':
      return needsQuotes(text, position, `a value that starts with ${character} needs quotes`)
    case 'BAD_DQ_ESCAPE': {
      const written = text.slice(position, position + 2)
      return problem(
        '014',
        `${written} is not an escape sequence of YAML`,
        'use single quotes',
        position,
        2,
        'xx',
      )
    }
    case 'BAD_INDENT':
      if (!message.startsWith('Flow')) return misaligned(text, position)
      return isUnmatchedBracket(text, position)
        ? unmatchedBracket(text, position)
        : unclosedBracket(text, position)
    case 'BLOCK_IN_FLOW':
      return missingComma(position)
    case 'MISSING_CHAR':
      return explainMissing(message, text, position)
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return notAKey(text, position, message)
    case 'UNEXPECTED_TOKEN':
      return explainUnexpected(message, text, position)
    default:
      return other(message, position)
  }
}

function explainMissing(message: string, text: string, position: number): SyntaxProblem {
  if (message.startsWith('Missing closing'))
    return unclosedQuote(text, position, message.includes('"') ? '"' : "'")
  if (message.startsWith('Sequence item')) return misaligned(text, position)
  if (message.startsWith('Missing , ')) return missingComma(position)
  if (message.startsWith('Comments'))
    return problem('010', 'a comment needs a space before its #', 'write " #", or quote the value', position)
  if (message.startsWith('Implicit map keys')) {
    const line = lineAt(text, position)
    return missingSpace(text, line) ?? missingColon(text, line)
  }
  return other(message, position)
}

function explainUnexpected(message: string, text: string, position: number): SyntaxProblem {
  const character = text.charAt(position)
  const line = lineAt(text, position)
  if (/flow-(map|seq)-start at node end/.test(message))
    return (
      missingSpace(text, line) ??
      needsQuotes(text, position, `inside { } or [ ], a value that contains ${character} needs quotes`)
    )
  if (/Unexpected flow-(map|seq)-end/.test(message))
    return missingSpace(text, line) ?? unmatchedBracket(text, position)
  if (message.includes(', in flow'))
    return problem('010', 'a value is missing before this comma', 'remove it', position, 1, ' ')
  if (message.startsWith('Unexpected block-seq-ind'))
    return problem(
      '012',
      'a list item cannot be on the line of its key',
      'put it on a new line, or write the list as [ ]',
      position,
      1,
      ' ',
    )
  if (/^(Block scalar header|Not a YAML token)/.test(message)) return blockHeader(text, position)
  if (message.includes('at node end')) {
    const missing = missingSpace(text, line) ?? indentedStart(text, position)
    if (missing !== undefined) return missing
    if (isInBrackets(text, position)) return missingComma(position)
    const opened = /:\s+(?=[{[])/.exec(line.text)
    if (opened !== null && '}]'.includes(text.charAt(position - 1))) {
      const from = line.start + opened.index + opened[0].length
      return needsQuotes(text, from, `a value that starts with ${text.charAt(from)} needs quotes`)
    }
    const length = line.end - position
    return problem(
      '010',
      'unexpected text after the value',
      'quote the whole value',
      position,
      length,
      ' '.repeat(length),
    )
  }
  return other(message, position)
}

/** Checks only the current line: in `{ methods: [GET] path: /x }` a bracket is open at `path`. */
function isInBrackets(text: string, position: number): boolean {
  const before = text.slice(lineAt(text, position).start, position).replace(/"[^"]*"|'[^']*'/g, '')
  return (before.match(/[{[]/g)?.length ?? 0) > (before.match(/[}\]]/g)?.length ?? 0)
}

function other(message: string, position: number): SyntaxProblem {
  return problem('010', `this is not valid YAML: ${message}`, undefined, position)
}

const OPENS: Readonly<Record<string, string>> = { ']': '[', '}': '{' }
const CLOSES: Readonly<Record<string, string>> = { '[': ']', '{': '}' }

const MAX_NESTING = 100

/** Explains an unclosed bracket: its closing bracket is missing or of the wrong kind. */
export function unclosedBracket(text: string, position: number): SyntaxProblem {
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character in OPENS) depth += 1
    if (!(character in CLOSES)) continue
    if (depth > 0) {
      depth -= 1
      continue
    }
    return problem('014', `this ${character} is never closed`, `add ${CLOSES[character]}`, index)
  }
  return problem('014', 'a bracket is never closed', undefined, position)
}

export function unmatchedBracket(text: string, position: number): SyntaxProblem {
  const character = text.charAt(position)
  return problem(
    '014',
    `this ${character} has no matching opening bracket`,
    'remove it, or quote the value',
    position,
    1,
    ' ',
  )
}

/** @returns true when no open bracket matches the closing bracket at `position`: `{ methods: [GET]] }`. */
export function isUnmatchedBracket(text: string, position: number): boolean {
  const wanted = OPENS[text.charAt(position)]
  if (wanted === undefined) return false
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character in OPENS) depth += 1
    else if (character in CLOSES && depth > 0) depth -= 1
    else if (character === wanted) return false
  }
  return true
}

/** Reports excessive nesting at the first excess bracket. The parser's own error position depends on its stack. */
export function excessiveNesting(text: string, position: number): SyntaxProblem {
  const message = 'lists and maps are nested too deeply here'
  const hint = `at most ${MAX_NESTING} levels are allowed`
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    if (character in CLOSES) depth += 1
    else if (character in OPENS) depth -= 1
    if (depth > MAX_NESTING) return problem('018', message, hint, index)
  }
  return problem('018', message, hint, position)
}

export function missingComma(position: number): SyntaxProblem {
  return problem('010', 'a comma is missing before this', 'write ", " between two entries', position)
}
