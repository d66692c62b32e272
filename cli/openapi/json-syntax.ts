import type { YamlRange } from '../../platform/diagnostics/yaml/yaml-locations.ts'

/** Offsets of the members of an object or a list: key start, key end, value start and value end. */
export type MemberOffsets = ReadonlyMap<
  object,
  ReadonlyMap<string, readonly [number, number, number, number]>
>

/**
 * A JSON text as plain data. `problems` contains the duplicate keys, or only the first syntax error. Objects have no
 * prototype.
 */
export type ParsedJson = {
  readonly value: unknown
  readonly offsets: MemberOffsets
  readonly problems: readonly {
    readonly message: string
    readonly range: YamlRange
    readonly first?: YamlRange
  }[]
}

const MAX_DEPTH = 500 // deeper than any API description; the call stack can hold several thousand levels
const LITERALS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PLAIN = 0x20 // RFC 8259 section 7: characters below U+0020 must be escaped

class SyntaxProblem extends Error {
  readonly range: YamlRange
  constructor(message: string, start: number) {
    super(message)
    this.range = [start, start + 1]
  }
}

/**
 * Parses JSON and stores the offsets of all values. Reports duplicate keys, because some parsers use the first value
 * and others the last value. The maximum depth is 500 levels. Source: RFC 8259.
 */
export function parseJsonText(text: string): ParsedJson {
  const offsets = new Map<object, Map<string, readonly [number, number, number, number]>>()
  const problems: { message: string; range: YamlRange; first?: YamlRange }[] = []
  let at = 0

  function skip(): void {
    SPACE.lastIndex = at
    SPACE.exec(text)
    at = SPACE.lastIndex
  }

  function fail(what: string): never {
    throw new SyntaxProblem(
      at >= text.length ? 'the document is incomplete' : what,
      Math.min(at, text.length - 1),
    )
  }

  function readString(what: string): string {
    if (text[at] !== '"') fail(what)
    const start = at
    let end = start + 1
    for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(++end)) {
      if (Number.isNaN(code)) fail('the closing quote of this string is missing')
      if (code < FIRST_PLAIN) {
        at = end
        fail('a control character must be escaped')
      }
      if (code === BACKSLASH) end++
    }
    at = end + 1
    const raw = text.slice(start, at)
    if (!raw.includes('\\')) return raw.slice(1, -1)
    try {
      return JSON.parse(raw) as string
    } catch {
      at = start
      return fail('this string contains an invalid escape sequence')
    }
  }

  function readValue(depth: number): unknown {
    if (depth > MAX_DEPTH) return fail(`lists and objects are nested more than ${MAX_DEPTH} levels deep here`)
    const character = text[at]
    if (character === '{') return readObject(depth)
    if (character === '[') return readList(depth)
    if (character === '"') return readString('')
    NUMBER.lastIndex = at
    const number = NUMBER.exec(text)?.[0]
    if (number !== undefined) {
      at = NUMBER.lastIndex
      return Number(number)
    }
    for (const [word, value] of LITERALS) {
      if (!text.startsWith(word, at)) continue
      at += word.length
      return value
    }
    return fail('a value is missing here')
  }

  function readObject(depth: number): unknown {
    const object: Record<string, unknown> = Object.create(null)
    const members = new Map<string, readonly [number, number, number, number]>()
    offsets.set(object, members)
    at++
    skip()
    if (text[at] === '}') {
      at++
      return object
    }
    for (;;) {
      skip()
      const keyStart = at
      const key = readString('a key in double quotes is missing here')
      const keyEnd = at
      skip()
      if (text[at] !== ':') fail('a colon is missing here')
      at++
      skip()
      const start = at
      const value = readValue(depth + 1)
      const earlier = members.get(key)
      if (earlier === undefined) {
        object[key] = value
        members.set(key, [keyStart, keyEnd, start, at])
      } else {
        const message = `the key ${JSON.stringify(key)} is defined twice`
        problems.push({ message, range: [keyStart, keyEnd], first: [earlier[0], earlier[1]] })
      }
      if (endOf('}')) return object
    }
  }

  function readList(depth: number): unknown {
    const list: unknown[] = []
    const members = new Map<string, readonly [number, number, number, number]>()
    offsets.set(list, members)
    at++
    skip()
    if (text[at] === ']') {
      at++
      return list
    }
    for (;;) {
      skip()
      const start = at
      const value = readValue(depth + 1)
      members.set(String(list.length), [start, at, start, at])
      list.push(value)
      if (endOf(']')) return list
    }
  }

  function endOf(bracket: string): boolean {
    skip()
    const character = text[at]
    if (character !== ',' && character !== bracket) fail(`a comma or ${bracket} is missing here`)
    at++
    return character === bracket
  }

  try {
    skip()
    const value = readValue(0)
    skip()
    if (at < text.length) fail('unexpected text after the end of the document')
    return { value, offsets, problems }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    return { value: undefined, offsets, problems: [{ message: error.message, range: error.range }] }
  }
}
