import type { Mode } from '../../policy-engine/format/policy-test.ts'
import type { Claims } from './caller-of-claims.ts'
import type { SimulatedRequest } from './simulate.ts'

const METHOD = /^[A-Z]{1,20}$/
// RFC 9110 sections 5.1 and 5.5.
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\u00ff]*$/

/** A simulated request as text: the arguments of `scopegate explain`, or the fields of the form of the console. */
export type RequestTexts = {
  readonly method: string
  readonly target: string
  /** `NAME=VALUE`. */
  readonly headers: readonly string[]
  readonly mode: Mode | undefined
}

/** An invalid field of `RequestTexts`, or an invalid claim. */
export class InvalidRequestTextError extends Error {
  readonly code = 'ERR_INVALID_REQUEST_TEXT'
  readonly field: 'method' | 'header' | 'claim'

  constructor(field: InvalidRequestTextError['field'], message: string) {
    super(message)
    this.field = field
  }
}

/** @throws {InvalidRequestTextError} */
export function readSimulatedRequest(
  { method: typed, target, headers, mode }: RequestTexts,
  token: Pick<SimulatedRequest, 'claims' | 'isCompleted'>,
): SimulatedRequest {
  // Methods are case-sensitive (RFC 9110 section 9.1), but people type them in any case.
  const method = typed.toUpperCase()
  if (!METHOD.test(method))
    throw new InvalidRequestTextError(
      'method',
      `${JSON.stringify(typed)} is not an HTTP method; example: GET /api/courses`,
    )
  return { method, target, headers: headers.map(readHeader), ...token, mode }
}

/**
 * Returns the claims of a token with `scopes` and with claims in the format `NAME=VALUE`. A JSON value keeps its type.
 * @throws {InvalidRequestTextError}
 */
export function readClaims(scopes: readonly string[] | undefined, claims: readonly string[]): Claims {
  const scope = scopes === undefined ? {} : { scope: scopes.join(' ') }
  return { ...scope, ...Object.fromEntries(claims.map(readClaim)) }
}

function readHeader(text: string): readonly [string, string] {
  const [name, value] = splitPair(text, 'header')
  if (/^(authorization|dpop|host)$/i.test(name))
    throw new InvalidRequestTextError('header', `${name} is not possible: set scopes or claims instead`)
  if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
    throw new InvalidRequestTextError('header', `${JSON.stringify(text)} is not a valid request header`)
  return [name, value]
}

function readClaim(text: string): readonly [string, unknown] {
  const [name, value] = splitPair(text, 'claim')
  try {
    return [name, JSON.parse(value)]
  } catch {
    return [name, value]
  }
}

function splitPair(text: string, field: 'header' | 'claim'): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidRequestTextError(field, `takes NAME=VALUE, not ${JSON.stringify(text)}`)
  return [text.slice(0, at), text.slice(at + 1)]
}
