import { isRecord } from '../record.ts'

/** Suggests how to write a value of the wrong type. Undefined when the intended value is unclear. */
export function suggestKind(wanted: unknown, value: unknown): string | undefined {
  if (Array.isArray(wanted)) {
    const hints = wanted.map((one) => suggestKind(one, value))
    return hints.find((one) => one !== undefined)
  }
  const name = wanted === 'string' ? unquotedName(value) : undefined
  if (name !== undefined) return `write "{${name}}"`
  if (wanted === 'boolean') return suggestBoolean(value)
  if (value === null) return 'write a value'
  if (wanted === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return `write "${value}"`
  if ((wanted === 'integer' || wanted === 'number') && typeof value === 'string')
    return /^\d+$/.test(value.trim()) ? `write ${value.trim()} without quotes` : undefined
  if (wanted === 'array' && typeof value === 'string')
    return `write [${value
      .split(/[\s,]+/)
      .filter(Boolean)
      .join(', ')}]`
  if (wanted === 'array' && typeof value === 'number') return `write [${value}]`
  if (wanted === 'array' && typeof value === 'object') return 'begin each item with "- "'
  if (wanted === 'object' && typeof value === 'string' && /^[\w-]+:\S/.test(value))
    return 'a key needs a space after its colon'
  if (wanted === 'object' && Array.isArray(value) && value.length === 1) return 'remove the "- " at the start'
  return undefined
}

/** Returns the key of `equals: {header.x-plan}`, which YAML reads as a map with one empty key. */
function unquotedName(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined
  const [[key, inner] = [], ...more] = Object.entries(value)
  return inner === null && more.length === 0 ? key : undefined
}

/** Suggests `true` or `false` for the other boolean words of YAML 1.1. */
function suggestBoolean(value: unknown): string | undefined {
  if (value === 1 || isOneOf(value, ['yes', 'on', 'y', 'true', '1'])) return 'write true'
  if (value === 0 || isOneOf(value, ['no', 'off', 'n', 'false', '0'])) return 'write false'
  return undefined
}

function isOneOf(value: unknown, words: readonly string[]): boolean {
  return typeof value === 'string' && words.includes(value.toLowerCase())
}

/** Suggests a choice whose text matches but whose type differs, e.g. 503 for "503". */
export function suggestChoice(value: unknown, choices: readonly unknown[]): string | undefined {
  if (value === true && choices.includes('on')) return 'write on: YAML 1.1 tools convert it to true'
  // String() throws for the maps of the YAML reader, which have no prototype.
  if (typeof value === 'object') return undefined
  const same = choices.find((one) => typeof one !== typeof value && String(one) === String(value))
  if (same === undefined) return undefined
  return typeof same === 'string' ? `write "${same}"` : `write ${same} without quotes`
}

/** Returns possible addresses: the text, with `https://` if the text has no scheme, and the origin of this address. */
function addresses(text: string): readonly string[] {
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`
  const isHost = /^https?:\/\/[a-z0-9-]+(?:\.[a-z0-9-]+)+/i.test(whole) && URL.canParse(whole)
  return isHost ? [whole, new URL(whole).origin] : []
}

/** Suggests the intended text for a malformed duration, size, address or name. The suggestion matches `pattern`. */
export function suggestText(value: unknown, pattern: unknown): string | undefined {
  if ((typeof value !== 'string' && typeof value !== 'number') || typeof pattern !== 'string')
    return undefined
  const text = String(value).trim()
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
  const [, count = '', unit = ''] = /^(\d+)\s*([A-Za-z]*)$/.exec(text) ?? []
  const units = count === '' ? [] : (UNITS[unit.toLowerCase()] ?? [])
  const form = new RegExp(pattern, 'u')
  // The pattern of a name accepts no capital letters.
  const names = form.test('A') ? [] : [name]
  const found = [text, ...addresses(text), ...units.map((one) => `${count}${one}`), ...names].find((one) =>
    form.test(one),
  )
  if (found === undefined || found === value) return undefined
  return found === text ? `write "${found}"` : `did you mean ${found}?`
}

/** Units that users write, and their possible meanings, most likely first. */
const UNITS: Readonly<Record<string, readonly string[]>> = {
  '': ['s'],
  ms: ['ms'],
  msec: ['ms'],
  s: ['s'],
  sec: ['s'],
  secs: ['s'],
  second: ['s'],
  seconds: ['s'],
  m: ['m', 'MiB'],
  min: ['m'],
  mins: ['m'],
  minute: ['m'],
  minutes: ['m'],
  h: ['h'],
  hr: ['h'],
  hour: ['h'],
  hours: ['h'],
  d: ['d'],
  day: ['d'],
  days: ['d'],
  b: ['B'],
  k: ['KiB'],
  kb: ['KiB'],
  kib: ['KiB'],
  mb: ['MiB'],
  mib: ['MiB'],
  g: ['GiB'],
  gb: ['GiB'],
  gib: ['GiB'],
}
