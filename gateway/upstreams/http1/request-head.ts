import { UpstreamError } from './upstream-error.ts'

export type RequestHead = {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Value of the `Host` header. The port is included if the port is not the default of the scheme. */
  readonly host: string
  /** Name, value, name, value. A `content-length` in this list is the length of the body. */
  readonly headers: readonly string[]
  readonly hasBody: boolean
  readonly upgrade: boolean
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const NOT_IN_TARGET = /[^\x21-\x7e]/
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
/** Header names that only `formatRequestHead` may write. */
const FRAMING: ReadonlySet<string> = new Set(['connection', 'host', 'transfer-encoding', 'upgrade'])
/**
 * Methods whose requests usually have a body. A request without a body gets `Content-Length: 0`: RFC 9110 section 8.6.
 */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
const LENGTH = 'content-length'

/**
 * Formats the head of a request. Rejects every input that could be parsed as more than one head.
 * Source: RFC 9112 sections 3, 5 and 6.
 * @returns the head, to be sent as Latin-1, and the length of the body. A length of `undefined` means chunked.
 * @throws {UpstreamError} ERR_UPSTREAM_UNFORWARDABLE.
 */
export function formatRequestHead(request: RequestHead): { text: string; contentLength: number | undefined } {
  const { method, path, headers, hasBody } = request
  if (!TOKEN.test(method)) throw unforwardable('its method is not valid')
  if (path.charCodeAt(0) !== 0x2f && path !== '*') throw unforwardable('its path must start with /')
  if (NOT_IN_TARGET.test(path)) throw unforwardable('its path has an invalid character')
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${request.host}\r\n`
  text += request.upgrade ? 'connection: upgrade\r\nupgrade: websocket\r\n' : 'connection: keep-alive\r\n'
  let length: string | undefined
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string
    const value = headers[at + 1] as string
    if (!isKnownName(name)) throw unforwardable('a header has an invalid name')
    if (NOT_IN_VALUE.test(value)) throw unforwardable('a header has an invalid character')
    if (name.length === LENGTH.length && name.toLowerCase() === LENGTH) {
      if (length !== undefined || !/^\d{1,15}$/.test(value))
        throw unforwardable('its Content-Length is not valid')
      length = value
    }
    text += `${name}: ${value}\r\n`
  }
  const contentLength = length === undefined ? undefined : Number(length)
  if (!hasBody && contentLength !== undefined && contentLength > 0)
    throw unforwardable('it has a Content-Length but no body')
  if (hasBody && contentLength === undefined) text += 'transfer-encoding: chunked\r\n'
  else if (!hasBody && contentLength === undefined && WITH_BODY.has(method)) text += 'content-length: 0\r\n'
  return { text: `${text}\r\n`, contentLength }
}

const knownNames = new Set<string>()
/** Maximum number of cached header names. Clients choose header names, so the cache needs a limit. */
const MAX_KNOWN_NAMES = 1_000

/** Returns whether a name is valid and not a framing header. */
function isKnownName(name: string): boolean {
  if (knownNames.has(name)) return true
  if (!TOKEN.test(name) || FRAMING.has(name.toLowerCase())) return false
  if (knownNames.size >= MAX_KNOWN_NAMES) knownNames.clear()
  knownNames.add(name)
  return true
}

function unforwardable(what: string): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_UNFORWARDABLE', `the request cannot be forwarded: ${what}`)
}
