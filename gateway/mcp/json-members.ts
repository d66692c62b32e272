/** A value in a JSON text. `text.slice(start, end)` is the value. */
export type JsonRange = { readonly start: number; readonly end: number }
export type JsonMember = JsonRange & { readonly key: string }

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ARRAY_END = 0x5d
const OPENS = new Set('{['.split('').map(codeOf))
const CLOSES = new Set('}]'.split('').map(codeOf))
const ENDS = new Set(',:}] \t\n\r'.split('').map(codeOf))
const SPACES = new Set(' \t\n\r'.split('').map(codeOf))
/** Printable ASCII. Some parsers drop or fold other characters, such as U+017F, which Go reads as `s`. */
const PLAIN_KEY = /^[\x20-\x7e]*$/
/** Some parsers in JavaScript set the prototype, whose members the object then inherits (CVE-2022-46175). */
const PROTOTYPE_KEY = '__proto__'

/**
 * Returns the members of an object. `JSON.parse()` keeps only the last of two members with the same key, and other parsers
 * keep the first. The function therefore finds each member that an upstream or a client could read in another way: a
 * duplicate key, a key with characters outside of printable ASCII, `__proto__`, and a key that differs from a key of
 * `exact` only in case (CVE-2026-27896).
 * @param text valid JSON, with an object at `start`.
 * @returns the members by key. undefined if parsers can read the object in different ways.
 */
export function readMembers(
  text: string,
  start: number,
  exact: readonly string[],
): ReadonlyMap<string, JsonRange> | undefined {
  const folded = new Set(exact.map((key) => key.toLowerCase()))
  const members = new Map<string, JsonRange>()
  for (const { key, ...range } of membersOf(text, start)) {
    if (members.has(key) || !PLAIN_KEY.test(key) || key === PROTOTYPE_KEY) return undefined
    if (!exact.includes(key) && folded.has(key.toLowerCase())) return undefined
    members.set(key, range)
  }
  return members
}

function* membersOf(text: string, start: number): Generator<JsonMember> {
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = endOfString(text, at)
    const key = JSON.parse(text.slice(at, keyEnd)) as string
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, valueStart)
    yield { key, start: valueStart, end }
    at = skipSpace(text, skipSpace(text, end) + 1)
  }
}

/** Returns the elements of an array. @param text valid JSON, with an array at `start`. */
export function* readElements(text: string, start: number): Generator<JsonRange> {
  let at = skipSpace(text, start + 1)
  while (text.charCodeAt(at) !== ARRAY_END) {
    const end = endOfValue(text, at)
    yield { start: at, end }
    at = skipSpace(text, end)
    if (text.charCodeAt(at) !== ARRAY_END) at = skipSpace(text, at + 1)
  }
}

/** Returns the end of a value. Does not recurse, so the nesting of the value has no limit. */
function endOfValue(text: string, start: number): number {
  let at = start
  let depth = 0
  do {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    if (OPENS.has(code)) depth += 1
    else if (CLOSES.has(code)) depth -= 1
    else if (depth === 0) {
      while (at < text.length && !ENDS.has(text.charCodeAt(at))) at += 1
      return at
    }
    at += 1
  } while (depth > 0)
  return at
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at + 1
}

export function skipSpace(text: string, start: number): number {
  let at = start
  while (SPACES.has(text.charCodeAt(at))) at += 1
  return at
}

function codeOf(character: string): number {
  return character.charCodeAt(0)
}

/** Decodes UTF-8, and keeps a byte order mark. @returns undefined for other bytes. */
export function decodeText(body: Buffer): string | undefined {
  try {
    return UTF8.decode(body)
  } catch {
    return undefined
  }
}

/** Parses a JSON text. JSON has no value `undefined`, so `undefined` means that the text is not valid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
