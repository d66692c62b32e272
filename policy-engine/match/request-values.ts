import type { RequestValue } from '../load/condition.ts'
import { type HeaderSource, UNCLEAR } from './find-header.ts'

/** What a request brings that a condition can compare a claim with. */
export type RequestValues = HeaderSource & {
  /** What the parameters of the route's path met, as it stands in the canonical path. */
  readonly params: Readonly<Record<string, string>>
  /** With its question mark; empty when there is none. */
  readonly query: string
}

/**
 * Reads a value of the request, decoded once. What is not there, is there twice, or can be read in two ways has no value.
 */
export function readRequestValue(value: RequestValue, request: RequestValues): string | undefined {
  switch (value.from) {
    case 'path':
      return decode(request.params[value.name])
    case 'header': {
      const found = request.header(value.name)
      return found === UNCLEAR ? undefined : found
    }
    case 'query':
      return readQuery(request.query, value.name)
  }
}

/**
 * The one value of a name in a query, by the rules of forms: `+` is a space. Servers differ in what else they take for the
 * same name: `;` between pairs, capitals, `name[]`, spaces around it, `.` for `_`. A query with another pair that any of them
 * would take for it has no value. Source: WHATWG URL, application/x-www-form-urlencoded.
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

/** What cannot be decoded is a name of its own. */
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
