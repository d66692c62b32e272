import type { YAMLError } from 'yaml'

/** A syntax error in plain words, at the character that has to change. */
export type SyntaxProblem = {
  /** The three digits of the diagnostic's code. */
  readonly number: string
  readonly message: string
  readonly hint: string | undefined
  readonly start: number
  readonly end: number
}

/**
 * Rewrites an error of the YAML parser: the parser says what its grammar missed, people need to know what to type.
 * @returns the problem, its offsets counted in UTF-16 units of `text`.
 */
export function explainYamlError(error: YAMLError, text: string): SyntaxProblem {
  const [position] = error.pos
  const line = lineAt(text, position)
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return problem('011', 'a tab indents this line', 'use spaces', position)
    case 'RESOURCE_EXHAUSTION':
      return problem(
        '018',
        'lists and maps are nested too deeply here',
        'the format needs no more than eight levels',
        position,
      )
    case 'BAD_SCALAR_START':
      return quote(text, position, `a value cannot start with ${text.charAt(position)}`)
    case 'BAD_ALIAS':
      return quote(text, position, 'a value that starts with * needs quotes')
    case 'BAD_DQ_ESCAPE':
      return problem(
        '014',
        `${text.slice(position, position + 2)} is not an escape of double quotes`,
        'use single quotes',
        position,
        2,
      )
    case 'BAD_INDENT':
      return error.message.startsWith('Flow') ? unclosedBracket(text, position) : misaligned(text, position)
    case 'MISSING_CHAR':
      if (error.message.startsWith('Missing closing'))
        return unclosedQuote(text, position, error.message.includes('"') ? '"' : "'")
      if (error.message.startsWith('Sequence item')) return misaligned(text, position)
      break
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY': {
      const missingSpace = explainMissingSpace(line)
      if (missingSpace !== undefined) return missingSpace
      if (error.message.startsWith('A block sequence')) return misaligned(text, position)
      if (/: /.test(text.slice(position, line.end)))
        return quote(text, position, 'a value that holds ": " needs quotes', line.end)
      return deeper(text, line.end)
    }
    case 'UNEXPECTED_TOKEN':
      if (/flow-(map|seq)-start at node end/.test(error.message)) {
        return quote(
          text,
          position,
          `inside { } or [ ], a value that holds ${text.charAt(position)} needs quotes`,
        )
      }
      if (/Unexpected flow-(map|seq)-end/.test(error.message)) {
        return problem(
          '014',
          `this ${text.charAt(position)} closes nothing`,
          'remove it, or quote the value',
          position,
        )
      }
      if (error.message.includes(', in flow'))
        return problem('010', 'this comma follows nothing', 'remove it', position)
      if (error.message.includes('at node end')) {
        return problem(
          '010',
          'the value ended before this',
          'quote the whole value',
          position,
          line.end - position,
        )
      }
      break
  }
  return problem('010', `this is not valid YAML: ${error.message}`, undefined, position)
}

type Line = { readonly start: number; readonly end: number; readonly text: string }

function lineAt(text: string, position: number): Line {
  const start = position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1
  const newline = text.indexOf('\n', position)
  const raw = text.slice(start, newline === -1 ? text.length : newline).replace(/\r$/, '')
  return { start, end: start + raw.length, text: raw }
}

function problem(
  number: string,
  message: string,
  hint: string | undefined,
  start: number,
  length = 1,
): SyntaxProblem {
  return { number, message, hint, start, end: start + length }
}

/** `name:courses` and `-name: x` are plain text to YAML; people meant a key or a list item. */
function explainMissingSpace(line: Line): SyntaxProblem | undefined {
  const dash = /^(\s*)-(?=[A-Za-z_"'])/.exec(line.text)
  if (dash !== null)
    return problem(
      '013',
      'a list item needs a space after its dash',
      'write "- "',
      line.start + dash[0].length - 1,
    )
  const colon = /^(\s*(?:- +)?[A-Za-z_][\w-]*):(?=[^\s:/])/.exec(line.text)
  if (colon !== null)
    return problem(
      '013',
      'a key needs a space after its colon',
      'write ": "',
      line.start + colon[0].length - 1,
    )
  return undefined
}

/** Points at the value around `position` and shows it in quotes. */
function quote(text: string, position: number, message: string, end?: number): SyntaxProblem {
  const line = lineAt(text, position)
  const before = text.slice(line.start, position)
  const start = position - (/[^\s,[\]]*$/.exec(before)?.[0].length ?? 0)
  const rest = text.slice(start, line.end)
  const value =
    end === undefined ? balanced(/^[^\s,]*/.exec(rest)?.[0] ?? rest) : text.slice(start, end).trimEnd()
  return problem('019', message, `write "${value.replaceAll('"', '\\"')}"`, start, Math.max(1, value.length))
}

/** Cuts closing brackets off that belong to the surroundings: `/a/{id}}` ends before its last brace. */
function balanced(value: string): string {
  let depth = 0
  for (const [index, character] of [...value].entries()) {
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    if (depth < 0) return value.slice(0, index)
  }
  return value
}

function misaligned(text: string, position: number): SyntaxProblem {
  const line = lineAt(text, position)
  const indent = line.text.length - line.text.trimStart().length
  return problem(
    '012',
    'this line lines up with no line above it',
    'give it the indentation of the keys that it belongs to',
    line.start + indent,
    Math.max(1, line.text.trim().length),
  )
}

/** The parser complains about the value above; the line to change is the next one. */
function deeper(text: string, lineEnd: number): SyntaxProblem {
  const next = /\S[^\r\n]*/g
  next.lastIndex = lineEnd
  const found = next.exec(text)
  if (found === null) return problem('010', 'this is neither a key nor a value', undefined, lineEnd)
  return problem(
    '012',
    'this line is indented deeper than the key above it',
    'indent both alike',
    found.index,
    found[0].length,
  )
}

function unclosedQuote(text: string, position: number, mark: '"' | "'"): SyntaxProblem {
  return problem(
    '014',
    `this ${mark} is never closed`,
    `add ${mark} at the end of the value`,
    Math.max(0, text.lastIndexOf(mark, position - 1)),
  )
}

function unclosedBracket(text: string, position: number): SyntaxProblem {
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character === ']' || character === '}') depth += 1
    if (character !== '[' && character !== '{') continue
    if (depth === 0) {
      return problem(
        '014',
        `this ${character} is never closed`,
        `add ${character === '[' ? ']' : '}'}`,
        index,
      )
    }
    depth -= 1
  }
  return problem('014', 'a bracket is never closed', undefined, position)
}
