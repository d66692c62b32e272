import type { ErrorCode, YAMLError } from 'yaml'
import type { YamlRange } from './yaml-locations.ts'

/** A syntax error, with the range of the text to change. */
type SyntaxProblem = {
  /** The three digits of the diagnostic's code. */
  readonly number: string
  readonly message: string
  readonly hint: string
  readonly range: YamlRange
}

/** Returns the range to show. Undefined: the rule does not apply. `says` is the message of the parser. */
type Locate = (text: string, position: number, says: string) => YamlRange | undefined

/**
 * A class of parser errors. Message and hint contain placeholders. `says` selects errors by the message of the parser.
 */
type Rule = readonly [number: string, message: string, hint: string, at?: Locate | undefined, says?: RegExp]

const MAX_DEPTH = 100

// In `- name:x`, `name` is a key if the following lines are indented deeper.
// `- courses:read` without such lines is a text.
const KEY_WITHOUT_SPACE =
  /(?<indent>[ \t]*)(?:- +(?=.*\r?\n(?:[ \t]*(?:#.*)?\r?\n)*\k<indent>[ \t]+[^\s#]))?[a-z_][\w-]*(?<shown>:)(?=[^\s:])(?!\/\/)/diy

/**
 * A value without spaces, and with paired brackets. For example, the value in `/a/{id}}` ends before the last brace.
 */
const VALUE = /(?:\{[^\s,{}]*\}|\[[^\s,[\]]*\]|[^\s,{}[\]])+/g
const VALUE_OR_CHARACTER = new RegExp(`${VALUE.source}|.`, 'sy')

/** Rules for a missing space. YAML reads `-name: x` and `name:x` as text. */
const MISSING_SPACE: readonly Rule[] = [
  ['013', 'a list item needs a space after its dash', 'write "- "', inLine(/[ \t]*(?<shown>-)(?=[a-z_])/diy)],
  ['013', 'a key needs a space after its colon', 'write ": "', inLine(KEY_WITHOUT_SPACE)],
]
const MISALIGNED: readonly Rule[] = [
  ...MISSING_SPACE,
  [
    '012',
    'a list item cannot be among the keys of a map',
    'remove the dash, or begin the lines above with "- " too',
    itemAmongKeys,
  ],
  [
    '012',
    'the indentation of this line matches no line above',
    'indent the line like the other entries of its map or list',
    wholeLine,
  ],
]
const MISSING_COLON = ['013', 'a key needs a colon and a space after it', '$pair'] as const
const MISSING_COMMA = [
  '010',
  'a comma is missing before this text',
  'write ", " between two entries',
] as const
const NOT_A_KEY: readonly Rule[] = [
  ...when(/^A block sequence/, MISALIGNED),
  ...MISSING_SPACE,
  [
    '014',
    'this $text is not closed in its line',
    'close the quote where the text ends, or remove the quote',
    matching(/"(?!.*")|'(?!.*')/y),
  ],
  ['019', 'a value that contains ": " needs quotes', 'write $quoted', matching(/(?=.*: ).*\S/y)],
  [...MISSING_COLON, firstInLine],
  ['012', 'this line is indented deeper than the key above it', 'indent the line like that key', nextLine],
  ['010', 'this is not a key or a value', 'write a key, a colon and a space'],
]

/** Rules by the error code of the parser. The first rule that applies explains an error. */
const RULES: Readonly<Partial<Record<ErrorCode, readonly Rule[]>>> = {
  TAB_AS_INDENT: [['011', 'a tab indents this line', 'use spaces']],
  KEY_OVER_1024_CHARS: [['010', 'a key must be at most 1024 characters', 'shorten the key']],
  RESOURCE_EXHAUSTION: [
    [
      '018',
      'lists and maps are nested too deeply here',
      `at most ${MAX_DEPTH} levels are allowed`,
      excessBracket,
    ],
  ],
  BAD_SCALAR_START: [
    ['019', 'a value cannot start with $first', 'write $quoted', matching(VALUE_OR_CHARACTER)],
  ],
  BAD_ALIAS: [
    ['019', 'a value that starts with $first needs quotes', 'write $quoted', matching(VALUE_OR_CHARACTER)],
  ],
  BAD_DQ_ESCAPE: [['014', '$text is not an escape sequence of YAML', 'use single quotes', matching(/../suy)]],
  BAD_INDENT: [
    ...when(/^Flow/, [
      [
        '014',
        'this $text has no matching opening bracket',
        'remove the bracket, or quote the value',
        unmatchedBracket,
      ],
      ['014', 'this $text is never closed', 'add $closing', unclosedBracket],
      ['014', 'a bracket is never closed', 'close the bracket'],
    ]),
    ...MISALIGNED,
  ],
  BLOCK_IN_FLOW: [MISSING_COMMA],
  BLOCK_AS_IMPLICIT_KEY: NOT_A_KEY,
  MULTILINE_IMPLICIT_KEY: NOT_A_KEY,
  MISSING_CHAR: [
    [
      '014',
      'this $text is never closed',
      'add $text at the end of the value',
      openingQuote,
      /^Missing closing/,
    ],
    [...MISSING_COMMA, undefined, /^Missing , /],
    ['010', 'a comment needs a space before its #', 'write " #", or quote the value', undefined, /^Comments/],
    ...when(/^Sequence item/, MISALIGNED),
    ...when(/^Implicit map keys/, [...MISSING_SPACE, [...MISSING_COLON, behindDashes]]),
  ],
  UNEXPECTED_TOKEN: [
    ...MISSING_SPACE,
    [
      '019',
      'inside { } or [ ], a value that contains { or [ needs quotes',
      'write $quoted',
      value,
      /flow-(map|seq)-start at/,
    ],
    [
      '014',
      'this $text has no matching opening bracket',
      'remove the bracket, or quote the value',
      undefined,
      /flow-(map|seq)-end/,
    ],
    ['010', 'a value is missing before this comma', 'remove the comma', undefined, /, in flow/],
    [
      '012',
      'a list item cannot be on the line of its key',
      'put the list item on a new line, or write the list as [ ]',
      undefined,
      /^Unexpected block-seq-ind/,
    ],
    [
      '019',
      'a value that starts with $first needs quotes',
      'write $quoted',
      blockHeader,
      /^(Block scalar header|Not a YAML token)/,
    ],
    ...when(/at node end/, [
      [
        '012',
        'the first key is indented, but the keys below it are not',
        'remove the indentation of the first key',
        indentedStart,
      ],
      [...MISSING_COMMA, inOpenBracket],
      ['019', 'a value that starts with $first needs quotes', 'write $quoted', valueBehindBracket],
      ['010', 'unexpected text after the value', 'quote the whole value', matching(/.+/y)],
    ]),
  ],
}

const PLACEHOLDERS: Readonly<Record<string, (shown: string) => string>> = {
  $text: (shown) => shown,
  $first: (shown) => shown.charAt(0),
  $quoted: inQuotes,
  $closing: (bracket) => (bracket === '[' ? ']' : '}'),
  $pair: suggestPair,
}

/** Converts an error of the parser, which reports grammar rules, into the text to change and the text to type. */
export function explainYamlError({ code, message: says, pos }: YAMLError, text: string): SyntaxProblem {
  const [position] = pos
  for (const [number, message, hint, at = here, wanted] of RULES[code] ?? []) {
    const range = wanted?.test(says) === false ? undefined : at(text, position, says)
    if (range === undefined) continue
    const shown = text.slice(...range)
    const typographic = number === '019' ? typographicQuotes(shown) : undefined
    return { number, range, ...(typographic ?? { message: fill(message, shown), hint: fill(hint, shown) }) }
  }
  const hint = 'look for an unclosed quote or bracket above'
  return { number: '010', message: `this is not valid YAML: ${says}`, hint, range: here(text, position) }
}

function fill(wording: string, shown: string): string {
  return wording.replace(/\$\w+/g, (name) => PLACEHOLDERS[name]?.(shown) ?? name)
}

/** Explains a value in typographic quotes, which YAML reads as part of the value. Undefined for other values. */
export function typographicQuotes(
  value: string,
): { readonly message: string; readonly hint: string } | undefined {
  const [, mark, inner = ''] = /^([“”„‟‘’‚«»])(.*?)[“”„‟‘’‚«»]?$/su.exec(value) ?? []
  return mark === undefined
    ? undefined
    : { message: `${mark} is not a quotation mark in YAML`, hint: `write ${inQuotes(inner)}` }
}

function inQuotes(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Suggests a key and a value for `owner`, `owner me`, `owner=me` and `owner：me`. */
function suggestPair(words: string): string {
  const [, key = 'key', value] = /^([a-z_][\w-]*)(?:\s*[=：]\s*|\s+|$)(\S.*)?$/iu.exec(words) ?? []
  return value === undefined ? `write "${key}: " and a value` : `write "${key}: ${value}"`
}

function when(says: RegExp, rules: readonly Rule[]): readonly Rule[] {
  return rules.map(([number, message, hint, at]): Rule => [number, message, hint, at, says])
}

function here(_: string, position: number): YamlRange {
  return [position, position + 1]
}

/** Creates a function that returns the match of a sticky pattern at the position of the error. */
function matching(pattern: RegExp): Locate {
  return (text, position) => {
    pattern.lastIndex = position
    const length = pattern.exec(text)?.[0].length
    return length === undefined ? undefined : [position, position + length]
  }
}

/** Creates a function that returns the group `shown` of a sticky pattern at the start of the line. */
function inLine(pattern: RegExp): Locate {
  return (text, position) => {
    pattern.lastIndex = contentLine(text, position)
    return pattern.exec(text)?.indices?.groups?.['shown']
  }
}

const NO_CONTENT = /(?:[ \t]*(?:#.*)?(?:\r?\n|$))*/y
const DASHES = /[ \t]*(?:- +)*/y

/** Returns the start of the line, or of the next line with content. The parser can report an empty line or comment. */
function contentLine(text: string, position: number): number {
  return skip(NO_CONTENT, text, lineStart(text, position))
}

function lineStart(text: string, position: number): number {
  return position === 0 ? 0 : text.lastIndexOf('\n', position - 1) + 1
}

function skip(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start
  return start + (pattern.exec(text)?.[0].length ?? 0)
}

/** Returns the rest of a line, without leading and trailing spaces. */
function wordsFrom(text: string, start: number): YamlRange {
  const newline = text.indexOf('\n', start)
  const rest = text.slice(start, newline === -1 ? undefined : newline)
  const from = start + rest.length - rest.trimStart().length
  return [from, from + rest.trim().length]
}

function wholeLine(text: string, position: number): YamlRange {
  return wordsFrom(text, contentLine(text, position))
}

function behindDashes(text: string, position: number): YamlRange {
  return wordsFrom(text, skip(DASHES, text, contentLine(text, position)))
}

function firstInLine(text: string, position: number): YamlRange | undefined {
  const range = behindDashes(text, position)
  return position <= range[0] ? range : undefined
}

function nextLine(text: string, position: number): YamlRange | undefined {
  const newline = text.indexOf('\n', position)
  const range = newline === -1 ? undefined : wholeLine(text, newline + 1)
  return range === undefined || range[0] === range[1] ? undefined : range
}

/**
 * Finds a list item among the keys of a map. Ignores lines above that are indented deeper. The nearest other line must
 * be a key with the same indentation.
 */
function itemAmongKeys(text: string, position: number): YamlRange | undefined {
  const start = contentLine(text, position)
  const range = wordsFrom(text, start)
  const indent = range[0] - start
  if (!text.startsWith('- ', range[0])) return undefined
  const lines = text.slice(0, start).split('\n')
  const above = lines.findLast((one) => /^[ \t]*[^\s#]/.test(one) && one.search(/\S/) <= indent)
  return above?.search(/\S/) === indent && !above.startsWith('- ', indent) ? range : undefined
}

function indentedStart(text: string, position: number): YamlRange | undefined {
  const [first, line] = [contentLine(text, 0), contentLine(text, position)]
  const range = wordsFrom(text, first)
  return first < line && range[0] - first > wordsFrom(text, line)[0] - line ? range : undefined
}

/** Finds the value around a position. */
function value(text: string, position: number): YamlRange {
  const start = lineStart(text, position)
  const [line = ''] = text.slice(start).split('\n', 1)
  for (const { index, 0: found } of line.matchAll(VALUE)) {
    const from = start + index
    if (from <= position && position < from + found.length) return [from, from + found.length]
  }
  return here(text, position)
}

const AFTER_COLON = inLine(/.*?:[ \t]+(?<shown>[{[]\S*)/dy)

function valueBehindBracket(text: string, position: number, says: string): YamlRange | undefined {
  return /[}\]]/.test(text.charAt(position - 1)) ? AFTER_COLON(text, position, says) : undefined
}

function blockHeader(text: string, position: number): YamlRange {
  const mark = Math.max(text.lastIndexOf('|', position - 1), text.lastIndexOf('>', position - 1))
  return wordsFrom(text, Math.max(mark, lineStart(text, position)))
}

function openingQuote(text: string, position: number, says: string): YamlRange {
  return here(text, Math.max(0, text.lastIndexOf(says.includes('"') ? '"' : "'", position - 1)))
}

/** Returns the positions of the open brackets. Stops at the first bracket that is nested deeper than `depth`. */
function openBrackets(text: string, end: number, depth = Number.POSITIVE_INFINITY): readonly number[] {
  const open: number[] = []
  for (const { index, 0: bracket } of text.slice(0, end).matchAll(/[[\]{}]/g)) {
    if (']}'.includes(bracket)) open.pop()
    else if (open.push(index) > depth) break
  }
  return open
}

/** Returns the first bracket above MAX_DEPTH. The position that the parser reports depends on its stack. */
function excessBracket(text: string, position: number): YamlRange {
  const open = openBrackets(text, text.length, MAX_DEPTH)
  return here(text, open.length > MAX_DEPTH ? (open.at(-1) ?? 0) : position)
}

function unclosedBracket(text: string, position: number): YamlRange | undefined {
  const last = openBrackets(text, position).at(-1)
  return last === undefined ? undefined : here(text, last)
}

const OPENING: Readonly<Record<string, string>> = { ']': '[', '}': '{' }

/** Finds a closing bracket without an open bracket of its kind: `{ methods: [GET]] }`. */
function unmatchedBracket(text: string, position: number): YamlRange | undefined {
  const opening = OPENING[text.charAt(position)]
  const isOpen = openBrackets(text, position).some((index) => text.charAt(index) === opening)
  return opening === undefined || isOpen ? undefined : here(text, position)
}

/**
 * Returns the position if a bracket is open in the same line. For example, in `{ methods: [GET] path: /x }` a bracket
 * is open at `path`.
 */
function inOpenBracket(text: string, position: number): YamlRange | undefined {
  const before = text.slice(lineStart(text, position), position).replace(/"[^"]*"|'[^']*'/g, '')
  return openBrackets(before, before.length).length > 0 ? here(text, position) : undefined
}
