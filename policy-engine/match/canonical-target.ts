import type { Rejection } from '../decide/rejection.ts'

/** Request target in its canonical form, which the gateway matches, logs and forwards. */
export type CanonicalTarget = {
  /** The path starts with a slash. Exception: `*` for `OPTIONS *`. */
  readonly path: string
  /** The query is unchanged and includes the question mark. Empty without a query. */
  readonly query: string
}

export type TargetRules = {
  readonly method: string
  /** Scheme and authority of the base URL in lower case. A target in absolute form must start with this origin. */
  readonly origin: string
  readonly limitBytes: number
}

// Matches a path with one slash before each segment. Does not match dot segments (`.`, `..`), also with path parameters
// (`..;x`), because an upstream may resolve dot segments. Linear time: every repetition consumes its own slash.
const PLAIN_PATH = /^(?:\/(?!\/|\.\.?(?:[/;]|$))[\w\-.~!$&'()*+,;=:@]*)+$/
const ENCODED_PATH = /^(?:\/(?!\/|\.\.?(?:[/;]|%3B|$))(?:[\w\-.~!$&'()*+,;=:@]|%[0-9A-F]{2})*)+$/
// Matches the characters of RFC 3986 section 3.4, and characters that browsers do not encode. Does not match control
// bytes, spaces and `#`.
const QUERY = /^[\x21\x22\x24-\x7e]*$/
const ENCODED_BYTE = /%(..?)?/g
const HEX_PAIR = /^[0-9A-Fa-f]{2}$/
const UNRESERVED = /[\w\-.~]/

/**
 * Converts a request target to its canonical form, or rejects it.
 * Decodes unreserved characters and writes other percent-encoding in upper case. Decodes only once.
 * Source: RFC 9112 section 3.2, RFC 3986 section 6.2.2. Pure. Never throws.
 */
export function canonicalTarget(target: string, rules: TargetRules): CanonicalTarget | Rejection {
  if (target.length > rules.limitBytes) return { rejected: 'target_too_long', limitBytes: rules.limitBytes }
  if (target.charCodeAt(0) !== 0x2f) return otherForm(target, rules)

  const queryAt = target.indexOf('?')
  const path = queryAt === -1 ? target : target.slice(0, queryAt)
  const query = queryAt === -1 ? '' : target.slice(queryAt)
  if (query !== '' && !QUERY.test(query))
    return malformed('The query contains a character that must be percent-encoded.')
  if (PLAIN_PATH.test(path)) return { path, query }

  const canonical = path.includes('%') ? normalizeEncoding(path) : undefined
  if (canonical !== undefined && ENCODED_PATH.test(canonical)) return { path: canonical, query }
  return malformed(
    'The path is ambiguous. Remove dot segments, empty segments, backslashes, encoded slashes, control bytes, fragments and invalid encoding.',
  )
}

/** Handles targets in absolute form, authority form and asterisk form. RFC 9112 sections 3.2.2 to 3.2.4. */
function otherForm(target: string, rules: TargetRules): CanonicalTarget | Rejection {
  if (target === '*' && rules.method === 'OPTIONS') return { path: '*', query: '' }
  const origin = target.slice(0, rules.origin.length)
  const rest = target.slice(rules.origin.length)
  if (origin.toLowerCase() !== rules.origin || rest.charCodeAt(0) !== 0x2f)
    return malformed('The request target must be a path.')
  return canonicalTarget(rest, rules)
}

/**
 * @returns undefined for invalid percent-encoding, for an encoded slash, backslash or control byte, and for invalid
 * UTF-8.
 */
function normalizeEncoding(path: string): string | undefined {
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

/** `decodeURIComponent()` rejects overlong forms, surrogates and truncated sequences. */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

function malformed(detail: string): Rejection {
  return { rejected: 'request_malformed', detail }
}
