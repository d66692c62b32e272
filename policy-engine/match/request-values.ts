import type { RequestValue } from '../load/policy-route.ts'
import { AMBIGUOUS, type HeaderSource } from './find-header.ts'

export type RequestValues = HeaderSource & {
  /** Values of the path parameters of the route, as in the canonical path. */
  readonly params: Readonly<Record<string, string>>
  /** Query with the question mark; empty without a query. */
  readonly query: string
}

/** Reads a request value and decodes it once. Returns undefined for a missing, repeated or ambiguous value. */
export function readRequestValue(value: RequestValue, request: RequestValues): string | undefined {
  switch (value.from) {
    case 'path':
      return decode(request.params[value.name])
    case 'header': {
      const found = request.header(value.name)
      return found === AMBIGUOUS ? undefined : found
    }
    case 'query':
      return readQuery(request.query, value.name)
  }
}

/**
 * Returns the only value of a name in a query, with form decoding: `+` is a space.
 * Servers also accept other spellings: `;` between pairs, upper case, `name[]`, surrounding spaces, `.` for `_`.
 * Returns undefined if the query contains another pair that one of these servers reads as the same name.
 * Source: WHATWG URL, application/x-www-form-urlencoded.
 */
function readQuery(query: string, name: string): string | undefined {
  const pairs = query.slice(1).split('&')
  const folded = foldName(name)
  const alike = pairs.flatMap((pair) => pair.split(';')).filter((pair) => foldName(readName(pair)) === folded)
  const exact = pairs.filter((pair) => readName(pair) === name)
  const [only] = exact
  if (alike.length !== 1 || only === undefined || exact.length !== 1) return undefined
  const equals = only.indexOf('=')
  return equals === -1 ? '' : decodeForm(only.slice(equals + 1))
}

/** Returns the decoded name, or the raw name if decoding fails. */
function readName(pair: string): string {
  const equals = pair.indexOf('=')
  const written = equals === -1 ? pair : pair.slice(0, equals)
  return decodeForm(written) ?? written
}

function foldName(name: string): string {
  const [before = ''] = name.split(/[[\0]/, 1)
  return before.trim().toLowerCase().replace(/[ .]/g, '_')
}

function decodeForm(text: string): string | undefined {
  return decode(text.replaceAll('+', ' '))
}

function decode(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
