import type { Refusal } from '../decide/refusal.ts'

/** What a request asks for, in the one form that is matched, logged and forwarded. */
export type CanonicalTarget = {
  /** Begins with a slash; `*` for `OPTIONS *`. */
  readonly path: string
  /** As it came, with its question mark; empty when there is none. */
  readonly query: string
}

/** What a request target is held against. */
export type TargetRules = {
  readonly method: string
  /** Scheme and authority of the base URL in lower case: the only absolute form that is ours. */
  readonly origin: string
  readonly limitBytes: number
}

// One slash before each segment, and no segment that an upstream may read as "here" or "one up":
// `.`, `..`, or either with path parameters (`..;x`). Linear: every repetition consumes its own slash.
const PLAIN_PATH = /^(?:\/(?!\/|\.\.?(?:[/;]|$))[\w\-.~!$&'()*+,;=:@]*)+$/
const ENCODED_PATH = /^(?:\/(?!\/|\.\.?(?:[/;]|%3B|$))(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-F]{2})*)+$/
// Everything that RFC 3986 section 3.4 can mean, and what browsers leave raw; no control byte, space, fragment.
const QUERY = /^[\x21\x22\x24-\x7e]*$/
const ENCODED_BYTE = /%(..?)?/g
const HEX_PAIR = /^[0-9A-Fa-f]{2}$/
const UNRESERVED = /[\w\-.~]/

/**
 * Brings a request target into its one canonical form, or refuses it.
 * Unreserved characters are decoded, other percent-hex is written in upper case, nothing is decoded twice.
 * Source: RFC 9112 section 3.2, RFC 3986 section 6.2.2. Pure and total.
 * @returns the target, or `request_malformed` or `target_too_long`.
 */
export function canonicalTarget(target: string, rules: TargetRules): CanonicalTarget | Refusal {
  if (target.length > rules.limitBytes) return { refused: 'target_too_long', limitBytes: rules.limitBytes }
  if (target.charCodeAt(0) !== 0x2f) return otherForm(target, rules)

  const queryAt = target.indexOf('?')
  const path = queryAt === -1 ? target : target.slice(0, queryAt)
  const query = queryAt === -1 ? '' : target.slice(queryAt)
  if (query !== '' && !QUERY.test(query))
    return malformed('The query holds a character that must be encoded.')
  if (PLAIN_PATH.test(path)) return { path, query }

  const canonical = path.includes('%') ? normaliseEncoding(path) : undefined
  if (canonical !== undefined && ENCODED_PATH.test(canonical)) return { path: canonical, query }
  return malformed(
    'The path is ambiguous: no dot segments, empty segments, backslashes, encoded slashes, control bytes, fragments or broken encoding.',
  )
}

/** RFC 9112 sections 3.2.2 to 3.2.4: absolute, authority and asterisk form. */
function otherForm(target: string, rules: TargetRules): CanonicalTarget | Refusal {
  if (target === '*' && rules.method === 'OPTIONS') return { path: '*', query: '' }
  const origin = target.slice(0, rules.origin.length)
  const rest = target.slice(rules.origin.length)
  if (origin.toLowerCase() !== rules.origin || rest.charCodeAt(0) !== 0x2f)
    return malformed('The request target must be a path.')
  return canonicalTarget(rest, rules)
}

/** @returns undefined when a byte is broken, hides a delimiter or a control byte, or the bytes are not UTF-8. */
function normaliseEncoding(path: string): string | undefined {
  let broken = false
  const normal = path.replace(ENCODED_BYTE, (encoded, hex: string | undefined) => {
    if (hex === undefined || !HEX_PAIR.test(hex)) {
      broken = true
      return encoded
    }
    const byte = Number.parseInt(hex, 16)
    if (byte < 0x20 || byte === 0x7f || byte === 0x2f || byte === 0x5c) broken = true
    const character = String.fromCharCode(byte)
    return byte < 0x80 && UNRESERVED.test(character) ? character : `%${hex.toUpperCase()}`
  })
  return broken || !isUtf8(normal) ? undefined : normal
}

/** The platform's decoder refuses overlong forms, surrogates and truncated sequences. */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function malformed(detail: string): Refusal {
  return { refused: 'request_malformed', detail }
}
