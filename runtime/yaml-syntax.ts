import type { YAMLError } from 'yaml'

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

type Repair = { readonly start: number; readonly text: string }
type Line = { readonly start: number; readonly end: number; readonly text: string }

/** Rewrites an error of the YAML parser: the parser says what its grammar missed, people need to know what to type. */
export function explainYamlError(error: YAMLError, text: string): SyntaxProblem {
  const [position] = error.pos
  const { message } = error
  const character = text.charAt(position)
  switch (error.code) {
    case 'TAB_AS_INDENT':
      return problem('011', 'a tab indents this line', 'use spaces', position, 1, ' ')
    case 'RESOURCE_EXHAUSTION':
      return problem('018', 'lists and maps are nested too deeply here', undefined, position)
    case 'BAD_SCALAR_START':
      return needsQuotes(text, position, `a value cannot start with ${character}`)
    case 'BAD_ALIAS':
      return needsQuotes(text, position, 'a value that starts with * needs quotes')
    case 'BAD_DQ_ESCAPE': {
      const written = text.slice(position, position + 2)
      return problem(
        '014',
        `${written} means nothing in double quotes`,
        'use single quotes',
        position,
        2,
        'xx',
      )
    }
    case 'BAD_INDENT':
      return message.startsWith('Flow') ? unclosedBracket(text, position) : misaligned(text, position)
    case 'MISSING_CHAR':
      if (message.startsWith('Missing closing'))
        return unclosedQuote(text, position, message.includes('"') ? '"' : "'")
      if (message.startsWith('Sequence item')) return misaligned(text, position)
      return other(message, position)
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return notAKey(text, position, message)
    case 'UNEXPECTED_TOKEN':
      if (/flow-(map|seq)-start at node end/.test(message)) {
        return needsQuotes(text, position, `inside { } or [ ], a value that holds ${character} needs quotes`)
      }
      if (/Unexpected flow-(map|seq)-end/.test(message)) {
        return problem(
          '014',
          `this ${character} closes nothing`,
          'remove it, or quote the value',
          position,
          1,
          ' ',
        )
      }
      if (message.includes(', in flow'))
        return problem('010', 'this comma follows nothing', 'remove it', position, 1, ' ')
      if (message.includes('at node end')) {
        const length = lineAt(text, position).end - position
        return problem(
          '010',
          'the value ended before this',
          'quote the whole value',
          position,
          length,
          ' '.repeat(length),
        )
      }
      return other(message, position)
    default:
      return other(message, position)
  }
}

function problem(
  number: string,
  message: string,
  hint: string | undefined,
  start: number,
  length = 1,
  instead?: string,
): SyntaxProblem {
  const repair = instead === undefined ? undefined : { start, text: instead }
  return { number, message, hint, start, end: start + length, repair }
}

function other(message: string, position: number): SyntaxProblem {
  return problem('010', `this is not valid YAML: ${message}`, undefined, position)
}

function lineAt(text: string, position: number): Line {
  const start = position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1
  const newline = text.indexOf('\n', position)
  const raw = text.slice(start, newline === -1 ? text.length : newline).replace(/\r$/, '')
  return { start, end: start + raw.length, text: raw }
}

/** The parser met something that cannot be a key: a space forgotten, a colon too many, or a line too far to the right. */
function notAKey(text: string, position: number, message: string): SyntaxProblem {
  const line = lineAt(text, position)
  const forgotten = missingSpace(line)
  if (forgotten !== undefined) return forgotten
  if (message.startsWith('A block sequence')) return misaligned(text, position)
  if (text.slice(position, line.end).includes(': ')) {
    return needsQuotes(text, position, 'a value that holds ": " needs quotes', line.end)
  }
  const next = /\S[^\r\n]*/g
  next.lastIndex = line.end
  const found = next.exec(text)
  if (found === null) return problem('010', 'this is neither a key nor a value', undefined, position)
  const instead = removable(text, found.index) ? ' '.repeat(found[0].length) : undefined
  return problem(
    '012',
    'this line is indented deeper than the key above it',
    'indent both alike',
    found.index,
    found[0].length,
    instead,
  )
}

/** `name:courses` and `-name: x` are plain text to YAML; people meant a key and a list item. */
function missingSpace(line: Line): SyntaxProblem | undefined {
  const dash = /^(\s*)-(?=[A-Za-z_])/.exec(line.text)
  if (dash !== null) {
    const start = line.start + dash[0].length - 1
    return problem('013', 'a list item needs a space after its dash', 'write "- "', start, 1, '- ')
  }
  const colon = /^(\s*(?:- +)?[A-Za-z_][\w-]*):(?=[^\s:/])/.exec(line.text)
  if (colon !== null) {
    const start = line.start + colon[0].length - 1
    const instead = `: ${'x'.repeat(line.end - start - 2)}`
    return problem('013', 'a key needs a space after its colon', 'write ": "', start, 1, instead)
  }
  return undefined
}

/** Points at the value around `position` and shows it in quotes. */
function needsQuotes(text: string, position: number, message: string, end?: number): SyntaxProblem {
  const line = lineAt(text, position)
  const start = position - (/[^\s,[\]]*$/.exec(text.slice(line.start, position))?.[0].length ?? 0)
  const rest = text.slice(start, line.end)
  const value =
    end === undefined
      ? withoutOuterBrackets(/^[^\s,]*/.exec(rest)?.[0] ?? rest)
      : text.slice(start, end).trimEnd()
  const length = Math.max(1, value.length)
  return problem('019', message, `write "${value.replaceAll('"', '\\"')}"`, start, length, 'x'.repeat(length))
}

/** Cuts closing brackets off that belong to the surroundings: `/a/{id}}` ends before its last brace. */
function withoutOuterBrackets(value: string): string {
  let depth = 0
  for (let index = 0; index < value.length; index++) {
    if ('{['.includes(value.charAt(index))) depth += 1
    if ('}]'.includes(value.charAt(index))) depth -= 1
    if (depth < 0) return value.slice(0, index)
  }
  return value
}

function misaligned(text: string, position: number): SyntaxProblem {
  const line = lineAt(text, position)
  const forgotten = missingSpace(line)
  if (forgotten !== undefined) return forgotten
  const words = line.text.trim()
  const start = line.start + line.text.indexOf(words)
  const instead = removable(text, start) ? ' '.repeat(words.length) : undefined
  const hint = 'give it the indentation of the keys that it belongs to'
  return problem(
    '012',
    'this line lines up with no line above it',
    hint,
    start,
    Math.max(1, words.length),
    instead,
  )
}

/** A line can be taken out of the way when no line below hangs on it. */
function removable(text: string, start: number): boolean {
  const line = lineAt(text, start)
  const below = /\n([ \t]*)[^\s#]/g
  below.lastIndex = line.end
  const indent = below.exec(text)?.[1]?.length ?? 0
  return indent <= start - line.start
}

function unclosedQuote(text: string, position: number, mark: '"' | "'"): SyntaxProblem {
  const start = Math.max(0, text.lastIndexOf(mark, position - 1))
  return problem('014', `this ${mark} is never closed`, `add ${mark} at the end of the value`, start)
}

function unclosedBracket(text: string, position: number): SyntaxProblem {
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character === ']' || character === '}') depth += 1
    if (character !== '[' && character !== '{') continue
    if (depth === 0)
      return problem(
        '014',
        `this ${character} is never closed`,
        `add ${character === '[' ? ']' : '}'}`,
        index,
      )
    depth -= 1
  }
  return problem('014', 'a bracket is never closed', undefined, position)
}
