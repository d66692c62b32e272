import type { IncomingHttpHeaders } from 'node:http'
import { isValueCharacter, TOKEN_CHARACTERS } from './characters.ts'
import { malformedResponse } from './upstream-error.ts'

/** Status line and headers of a response, the framing of the body, and the further use of the connection. */
export type ResponseHead = {
  readonly status: number
  /** Keyed by lowercase name, without a prototype. A header that occurs more than once has a list of values. */
  readonly headers: IncomingHttpHeaders
  /** Announced length of the body in bytes; `undefined`: not announced. */
  readonly contentLength: number | undefined
  readonly chunked: boolean
  readonly keepsAlive: boolean
  /** Idle timeout that the upstream announces; `undefined`: no announced timeout. Milliseconds. */
  readonly keepAliveMs: number | undefined
}

/** Maximum number of interim responses per request. Legitimate upstreams send fewer. */
export const MAX_INTERIM_RESPONSES = 32

const CR = 13
const LF = 10
const SPACE = 32
const TAB = 9
const COLON = 58
const MAX_HEADERS = 512
const DIGITS = /^\d{1,15}$/
const LENGTH = 'content-length'

/**
 * Parses the head of a response strictly. The function rejects every form that two parsers could read differently: bare
 * line breaks, folded lines, a space before the colon, two lengths, or both a length and chunks.
 * Source: RFC 9112 sections 2.2, 4, 5 and 6.
 * @param text the head as Latin-1, starting with the status line.
 * @param end position after the line break of the last header.
 * @throws {UpstreamError} ERR_UPSTREAM_PROTOCOL.
 */
export function parseResponseHead(text: string, end: number): ResponseHead {
  let at = readStatusLine(text)
  const http10 = text.charCodeAt(7) === 0x30
  const headers = Object.create(null) as Record<string, string | string[]>
  let contentLength: string | undefined
  let coding: string | undefined
  let connection: string | undefined
  let count = 0
  while (at < end) {
    const nameFrom = at
    let code = text.charCodeAt(at)
    while (TOKEN_CHARACTERS[code] === 1) code = text.charCodeAt(++at)
    if (code !== COLON || at === nameFrom) throw malformedResponse('a header has an invalid name')
    if (++count > MAX_HEADERS) throw malformedResponse('it has too many headers')
    const name = text.slice(nameFrom, at).toLowerCase()
    code = text.charCodeAt(++at)
    while (code === SPACE || code === TAB) code = text.charCodeAt(++at)
    const valueFrom = at
    while (isValueCharacter(code)) code = text.charCodeAt(++at)
    if (code !== CR || text.charCodeAt(at + 1) !== LF)
      throw malformedResponse('a header has an invalid character')
    let valueTo = at
    while (valueTo > valueFrom && isBlank(text.charCodeAt(valueTo - 1))) valueTo -= 1
    at += 2
    const value = text.slice(valueFrom, valueTo)
    switch (name) {
      case LENGTH:
        if (contentLength !== undefined) throw malformedResponse('it has two Content-Length headers')
        contentLength = value
        break
      case 'transfer-encoding':
        if (coding !== undefined) throw malformedResponse('it has two Transfer-Encoding headers')
        // Removes only spaces. Some parsers do not remove a tab, and then do not recognize the coding.
        coding = text.slice(valueFrom, at - 2).replace(/ +$/, '')
        break
      case 'connection':
      case 'proxy-connection':
        connection = connection === undefined ? value : `${connection},${value}`
        break
    }
    add(headers, name, value)
  }
  if (contentLength !== undefined) {
    if (!DIGITS.test(contentLength)) throw malformedResponse('its Content-Length is not a number')
    // Removes leading zeros, because some parsers read a number with leading zeros as octal.
    headers[LENGTH] = String(Number(contentLength))
  }
  if (coding !== undefined) {
    if (contentLength !== undefined) throw malformedResponse('it has Content-Length and Transfer-Encoding')
    if (http10) throw malformedResponse('it has Transfer-Encoding in HTTP/1.0')
    if (coding.toLowerCase() !== 'chunked') throw malformedResponse('its Transfer-Encoding is not chunked')
  }
  const status = Number(text.slice(9, 12))
  const length = contentLength === undefined ? undefined : Number(contentLength)
  // RFC 9112 section 6.3: an interim response has no content. The parser would read announced content as the final
  // response.
  if (status < 200 && (coding !== undefined || (length ?? 0) > 0))
    throw malformedResponse('an interim response announces content')
  const keepsConnection = keepsAlive(connection, http10)
  if (status < 200 && status !== 101 && !keepsConnection)
    throw malformedResponse('an interim response ends the connection')
  return {
    status,
    headers,
    contentLength: length,
    chunked: coding !== undefined,
    keepsAlive: keepsConnection,
    keepAliveMs: keepAliveMs(headers['keep-alive']),
  }
}

/** @returns the position of the first header. */
function readStatusLine(text: string): number {
  if (!text.startsWith('HTTP/1.1 ') && !text.startsWith('HTTP/1.0 '))
    throw malformedResponse('it is not HTTP/1.x')
  const first = text.charCodeAt(9)
  if (first < 0x31 || first > 0x39 || !isDigit(text.charCodeAt(10)) || !isDigit(text.charCodeAt(11)))
    throw malformedResponse('its status is not a number of three digits')
  let at = 12
  let code = text.charCodeAt(at)
  if (code !== SPACE && code !== CR) throw malformedResponse('its status is not a number of three digits')
  while (isValueCharacter(code)) code = text.charCodeAt(++at)
  if (code !== CR || text.charCodeAt(at + 1) !== LF)
    throw malformedResponse('its status line has an invalid end')
  return at + 2
}

function add(headers: Record<string, string | string[]>, name: string, value: string): void {
  const known = headers[name]
  if (known === undefined) headers[name] = value
  else if (typeof known === 'string') headers[name] = [known, value]
  else known.push(value)
}

/** Returns whether the connection stays open after the response. RFC 9112 section 9.3. */
function keepsAlive(connection: string | undefined, http10: boolean): boolean {
  if (connection === undefined) return !http10
  const options = connection.toLowerCase()
  if (options === 'keep-alive') return true
  const named = options.split(/[\t ]*,[\t ]*/)
  return !named.includes('close') && (!http10 || named.includes('keep-alive'))
}

/** Reads the `Keep-Alive` header as in RFC 2068 section 19.7.1.1, which servers still follow. */
function keepAliveMs(keepAlive: string | readonly string[] | undefined): number | undefined {
  if (keepAlive === undefined) return undefined
  const seconds = /(?:^|[\s,])timeout\s*=\s*"?(\d{1,6})/i.exec(String(keepAlive))?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}
