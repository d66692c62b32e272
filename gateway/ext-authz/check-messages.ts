/**
 * The messages of `envoy.service.auth.v3.Authorization/Check`.
 * Source: envoy/service/auth/v3/external_auth.proto and attribute_context.proto, envoy/config/core/v3/base.proto and
 * address.proto. `ext-authz.proto` in this folder lists the fields that the gateway uses.
 */
import { isIP } from 'node:net'
import { HEADERS_TO_REMOVE, REPLACED_PATH } from '../pipeline/decision-endpoint.ts'
import type { TextReply } from '../pipeline/send-reply.ts'
import { encodeField, encodeInteger, MalformedMessage, readFields } from './protobuf.ts'

/** The original request, as Envoy describes it. All values are unchecked client input. */
export type CheckRequest = {
  /** Empty if the message has no method. The same applies to `path`. */
  readonly method: string
  /** The path and the query. */
  readonly path: string
  /** Undefined if the message has no host. */
  readonly host: string | undefined
  /** Name, value, name, value. Names are in lower case. Without pseudo-headers, and without the length of the body. */
  readonly headers: readonly string[]
  /** The IP address of the client of Envoy. */
  readonly sourceAddress: string
}

/** Also matches pseudo-headers, such as `:path`. */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters end or split a header
const INVALID_VALUE = /[\x00\r\n]/
/** Envoy forwards the body. The call has only its description. */
const BODY_HEADERS: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding'])

/**
 * Decodes a `CheckRequest`. The field `path` has "!" in place of each byte that is not UTF-8. With
 * `encode_raw_headers`, the header `:path` has the bytes.
 * @throws {MalformedMessage} for bytes that are not this message, a repeated or contradictory value, an invalid header, a
 * body, or a client without an IP address.
 */
export function decodeCheckRequest(message: Buffer): CheckRequest {
  const attributes = readPath(message, [1])
  // AttributeContext.request, Request.http
  const http = readPath(attributes, [4, 2])
  // AttributeContext.source, Peer.address, Address.socket_address, SocketAddress.address
  const sourceAddress = readText(attributes, [1, 1, 1, 2])
  if (sourceAddress === undefined || isIP(sourceAddress) === 0)
    throw new MalformedMessage('source.address must be an IP address')
  if (readPath(http, [11]) !== undefined || readPath(http, [12]) !== undefined)
    throw new MalformedMessage('the request must not have a body; remove with_request_body')
  const method = readText(http, [2]) ?? ''
  const path = readText(http, [4]) ?? ''
  const host = readText(http, [5])
  const rawHeaders = readRepeated(readPath(http, [13]), 1).map(readHeader)
  if (REPLACED_PATH.test(path) && !rawHeaders.some(([name]) => name === ':path'))
    throw new MalformedMessage('the path contains "!"; send %21, or set encode_raw_headers in Envoy')
  const sent: Readonly<Record<string, string | undefined>> = {
    ':method': method,
    ':path': path,
    ':authority': host,
  }
  const headers: string[] = []
  for (const [name, value] of [...readRepeated(http, 3).map(readHeader), ...rawHeaders]) {
    if (name.startsWith(':')) {
      if (name in sent && sent[name] !== value)
        throw new MalformedMessage(`the header ${name} contradicts the request`)
    } else if (!BODY_HEADERS.has(name)) headers.push(name, value)
  }
  return { method, path, host, headers, sourceAddress }
}

/**
 * Returns the bytes of a field in nested messages. Undefined: the field, or a message around it, is missing.
 * @throws {MalformedMessage} for a repeated field. Protobuf would use the last value, but another reader could use the
 * first value.
 */
function readPath(message: Buffer | undefined, path: readonly number[]): Buffer | undefined {
  return path.reduce((parent: Buffer | undefined, wanted) => {
    const [value, ...others] = readRepeated(parent, wanted)
    if (others.length > 0) throw new MalformedMessage(`the field ${wanted} is repeated`)
    return value
  }, message)
}

function readRepeated(message: Buffer | undefined, wanted: number): readonly Buffer[] {
  const found: Buffer[] = []
  if (message === undefined) return found
  for (const { number, bytes } of readFields(message)) {
    if (number !== wanted) continue
    if (bytes === undefined) throw new MalformedMessage(`the field ${wanted} is a number`)
    found.push(bytes)
  }
  return found
}

/** Decodes each byte to one character, as the HTTP parser of Node does. */
function readText(message: Buffer | undefined, path: readonly number[]): string | undefined {
  return readPath(message, path)?.toString('latin1')
}

/** Reads an entry of the map `headers`, or a `HeaderValue`, which has its value in `value` or in `raw_value`. */
function readHeader(entry: Buffer): readonly [name: string, value: string] {
  const name = readText(entry, [1]) ?? ''
  const value = readText(entry, [3]) ?? readText(entry, [2]) ?? ''
  if (!NAME.test(name) || INVALID_VALUE.test(value)) throw new MalformedMessage('a header is not valid')
  return [name, value]
}

/**
 * Encodes the reply of the pipeline as a `CheckResponse`. Envoy applies each header instead of headers with the same
 * name, except Vary: the response of the upstream also depends on the headers that the upstream names.
 */
export function encodeCheckResponse({ status, headers, body }: TextReply): Buffer {
  return status === 200 ? encodeAllowed(headers) : encodeDenied(status, headers, body)
}

/** `google.rpc.Code`: PERMISSION_DENIED. */
const PERMISSION_DENIED = 7
/** Headers of the reply that belong to a connection, and that Envoy sets itself. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set(['connection', 'content-length'])

function encodeAllowed(headers: readonly string[]): Buffer {
  const fields: Buffer[] = []
  for (const [name, value] of pairs(headers)) {
    if (name === HEADERS_TO_REMOVE) for (const one of value.split(',')) fields.push(encodeField(5, one))
    else if (name.startsWith('x-auth-')) fields.push(encodeHeader(2, name, value))
    // A response to the client can be cached, unlike the decision.
    else if (name !== 'cache-control') fields.push(encodeHeader(6, name, value, name === 'vary'))
  }
  // A `google.rpc.Status` without a code is OK.
  return Buffer.concat([encodeField(1, []), encodeField(3, fields)])
}

function encodeDenied(status: number, headers: readonly string[], body = ''): Buffer {
  const fields = [encodeField(1, [encodeInteger(1, status)])]
  for (const [name, value] of pairs(headers)) fields.push(encodeHeader(2, name, value))
  fields.push(encodeField(3, body))
  return Buffer.concat([encodeField(1, [encodeInteger(1, PERMISSION_DENIED)]), encodeField(2, fields)])
}

/**
 * Encodes a `HeaderValueOption`. The field `append` is always present. Without this field, some versions of Envoy append
 * the value to a header of the client. An empty message means false.
 */
function encodeHeader(number: number, name: string, value: string, isAppended = false): Buffer {
  const header = encodeField(1, [encodeField(1, name), encodeField(2, value)])
  return encodeField(number, [header, encodeField(2, isAppended ? [encodeInteger(1, 1)] : [])])
}

function* pairs(headers: readonly string[]): Generator<readonly [name: string, value: string]> {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = String(headers[at]).toLowerCase()
    if (!CONNECTION_HEADERS.has(name)) yield [name, String(headers[at + 1])]
  }
}
