import type { Rejection } from '../decide/rejection.ts'
import { findHeader, type HeaderSource } from './find-header.ts'
import { headerKind } from './header-kind.ts'

/** The headers of a request after the stage `canonicalize`: headers to forward, and values that the gateway uses. */
export type CleanHeaders = {
  /**
   * End-to-end headers that the gateway does not manage: name, value, name, value. The caller may append to the list.
   */
  readonly endToEnd: string[]
  readonly authorization: string | undefined
  readonly authorizationCount: number
  /**
   * The DPoP proof. Several `DPoP` lines are joined with commas, and the result is not a valid proof. RFC 9449 section
   * 4.1.
   */
  readonly proof: string | undefined
  /** All `Cookie` lines, joined with `; `. RFC 6265 section 5.4. */
  readonly cookie: string | undefined
  readonly userAgent: string | undefined
  /** Framing of the body. RFC 9112 section 6.3. */
  readonly body: 'none' | 'sized' | 'chunked'
  /** Announced length of the body. 0 when the length is not announced. Bytes. */
  readonly contentLength: number
  /**
   * Whether the client offers to switch to another protocol. The gateway ignores the offer, but the next bytes may use
   * that protocol.
   */
  readonly offersUpgrade: boolean
} & HeaderSource

/** Version of a request in frames. A client can write `HTTP/2.0` in a request line of HTTP/1.1, but not this version. */
export const HTTP2 = '2'
const HOST = /^(?:[A-Za-z0-9\-._~]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/
const DIGITS = /^\d{1,15}$/

/**
 * Validates the framing of a request, drops hop-by-hop and managed headers, and extracts the credentials. Reads the
 * headers in one pass. Source: RFC 9110 sections 7.2 and 7.6.1, RFC 9112 section 6.
 * @returns the headers, or `request_malformed`.
 */
export function cleanHeaders(raw: readonly string[], httpVersion: string): CleanHeaders | Rejection {
  const endToEnd: string[] = []
  let host: string | undefined
  let connection: string | undefined
  let authorization: string | undefined
  let authorizationCount = 0
  let proof: string | undefined
  let cookie: string | undefined
  let userAgent: string | undefined
  let contentLength: string | undefined
  let transferEncoding: string | undefined

  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    switch (headerKind(name.toLowerCase())) {
      case undefined:
        endToEnd.push(name, value)
        break
      case 'user-agent':
        userAgent = value
        endToEnd.push(name, value)
        break
      case 'host':
        if (host !== undefined) return malformed('Send exactly one Host header.')
        host = value
        break
      case 'connection':
        connection = connection === undefined ? value : `${connection},${value}`
        break
      case 'authorization':
        authorization = value
        authorizationCount += 1
        break
      case 'dpop':
        proof = proof === undefined ? value : `${proof}, ${value}`
        break
      case 'cookie':
        cookie = cookie === undefined ? value : `${cookie}; ${value}`
        break
      case 'content-length':
        if (contentLength !== undefined) return malformed('Send exactly one Content-Length header.')
        contentLength = value
        break
      case 'transfer-encoding':
        if (transferEncoding !== undefined) return malformed('Send exactly one Transfer-Encoding header.')
        transferEncoding = value
        break
      case 'hop':
      case 'managed':
        break
    }
  }

  if (httpVersion !== '1.1' && httpVersion !== '1.0' && httpVersion !== HTTP2)
    return malformed('This server supports HTTP/1.0 and HTTP/1.1.')
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host))
    return malformed('Send one Host header with a host name or an IP address.')
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined)
      return malformed('Send either Content-Length or Transfer-Encoding, not both.')
    if (httpVersion === '1.0') return malformed('HTTP/1.0 does not support Transfer-Encoding.')
    if (transferEncoding.toLowerCase() !== 'chunked')
      return malformed('Only the Transfer-Encoding chunked is supported.')
  }
  if (contentLength !== undefined && !DIGITS.test(contentLength))
    return malformed('Content-Length must be a decimal number of bytes.')

  const bytes = contentLength === undefined ? 0 : Number(contentLength)
  const nominated = nominatedHeaders(connection)
  return {
    endToEnd: withoutNominated(endToEnd, nominated),
    authorization,
    authorizationCount,
    proof,
    cookie,
    userAgent,
    body: transferEncoding !== undefined ? 'chunked' : bytes > 0 ? 'sized' : 'none',
    contentLength: bytes,
    offersUpgrade: nominated.has('upgrade'),
    header: headerAmong,
    mcpCall: undefined,
  }
}

/**
 * Searches only the headers that the gateway forwards. All requests share this function, so a request needs no closure.
 */
function headerAmong(this: CleanHeaders, name: string): ReturnType<HeaderSource['header']> {
  return findHeader(this.endToEnd, name)
}

function withoutNominated(headers: string[], nominated: ReadonlySet<string>): string[] {
  if (nominated.size === 0) return headers
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string
    if (!nominated.has(name.toLowerCase())) kept.push(name, headers[i + 1] as string)
  }
  return kept
}

function malformed(detail: string): Rejection {
  return { rejected: 'request_malformed', detail }
}

const NOTHING: ReadonlySet<string> = new Set()

/**
 * Returns the header names that a `Connection` value nominates as specific to this connection.
 * Source: RFC 9110 section 7.6.1.
 */
export function nominatedHeaders(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined) return NOTHING
  const lower = connection.toLowerCase()
  if (lower === 'keep-alive' || lower === 'close') return NOTHING
  return new Set(lower.split(',').map((token) => token.trim()))
}
