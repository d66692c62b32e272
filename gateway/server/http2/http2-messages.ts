import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import {
  constants,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { HTTP2 } from '../../../policy-engine/match/clean-headers.ts'
import { toHeaderForms } from '../../pipeline/header-forms.ts'

/**
 * A request of HTTP/2 in the form that the pipeline reads. `rawHeaders` has the host and the framing of HTTP/1.1, so the
 * stage `canonicalize` checks both protocols with the same rules.
 */
export class Http2Request extends Http2ServerRequest {
  /** Whether the client sends a body. The body can be empty. */
  readonly hasBody: boolean
  /** The connection of the client. The socket of the session has no address and no certificate. */
  override readonly socket: TLSSocket

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    socket: TLSSocket,
  ) {
    super(stream, headers, {}, toHttp1Headers(rawHeaders, !stream.endAfterHeaders))
    this.socket = socket
    this.hasBody = !stream.endAfterHeaders
    const { scheme } = this
    // RFC 9113 section 8.3.1: another scheme makes another target. Proxies send `http` if their client used plain HTTP.
    if (scheme !== undefined && scheme !== 'https' && scheme !== 'http') this.url = `${scheme}:${this.url}`
  }

  get headersDistinct(): IncomingMessage['headersDistinct'] {
    return toHeaderForms([...this.rawHeaders]).headersDistinct
  }

  asMessage(): IncomingMessage {
    return this as unknown as IncomingMessage
  }
}

// Node's class has the version `2.0`, which a client can also write in a request line of HTTP/1.1.
Object.defineProperty(Http2Request.prototype, 'httpVersion', { value: HTTP2 })

/**
 * Converts the pseudo-headers of a request. RFC 9113 section 8.3.1: a `Host` that differs from `:authority` makes the
 * request malformed, so the result then has two hosts. A client cannot send `transfer-encoding` in HTTP/2.
 */
function toHttp1Headers(raw: readonly string[], hasBody: boolean): string[] {
  const headers: string[] = []
  let authority: string | undefined
  let isChunked = hasBody
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] as string
    const value = raw[at + 1] as string
    if (name === ':authority') {
      authority = value.toLowerCase()
      headers.push('host', value)
      continue
    }
    if (name.startsWith(':') || (name === 'host' && value.toLowerCase() === authority)) continue
    if (name === 'content-length') isChunked = false
    headers.push(name, value)
  }
  if (isChunked) headers.push('transfer-encoding', 'chunked')
  return headers
}

/** Statuses without content. RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
const RESET_CONTENT = 205
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, RESET_CONTENT, 304])

/** A response of HTTP/2 in the form that the pipeline writes. */
export class Http2Response extends Http2ServerResponse<Http2Request> {
  /** Number of chunks that the client has taken. */
  takenChunks = 0
  /** Time in which the client must take a chunk. Milliseconds. */
  stallTimeoutMs: number
  override readonly socket: TLSSocket
  readonly #announceClose: () => void
  #hasContent = true

  /** @param announceClose asks the client to open no further streams on its connection. */
  constructor(stream: ServerHttp2Stream, stallTimeoutMs: number, announceClose: () => void) {
    super(stream)
    this.socket = this.req.socket
    this.stallTimeoutMs = stallTimeoutMs
    this.#announceClose = announceClose
  }

  /** Sends the headers. `connection: close` closes the connection of the client: RFC 9113 sections 6.8 and 8.2.2. */
  override writeHead(status: number, headers: unknown): this {
    this.#hasContent = this.req.method !== 'HEAD' && !WITHOUT_CONTENT.has(status)
    const given = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat()
    const sent: string[] = []
    for (let at = 0; at + 1 < given.length; at += 2) {
      // A length of content that the gateway drops would make the response malformed: RFC 9113 section 8.1.1.
      if (status === RESET_CONTENT && given[at] === 'content-length') continue
      if (given[at] !== 'connection') sent.push(given[at], given[at + 1])
      else if (given[at + 1] === 'close') this.#announceClose()
    }
    // Node cannot send a status above 599, which is invalid: RFC 9110 section 15.
    const valid = status > 599 ? 502 : status
    // Node accepts a list of names and values, which its types lack.
    return super.writeHead(valid, sent as unknown as OutgoingHttpHeaders)
  }

  override write(chunk: string | Uint8Array, encoding?: unknown): boolean {
    return !this.#hasContent || super.write(chunk, encoding as BufferEncoding, this.#onTaken)
  }

  override end(chunk?: unknown, encoding?: unknown): this {
    if (!this.#hasContent) return super.end()
    return super.end(chunk as string, encoding as BufferEncoding)
  }

  /** RFC 9113 section 8.1.1: a reset stream makes the response incomplete for the client. */
  override destroy(): this {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    return this
  }

  /** Node's timeout of a stream starts again when any stream of the connection sends data. */
  override setTimeout(stallTimeoutMs: number): void {
    this.stallTimeoutMs = stallTimeoutMs
  }

  writeProcessing(): void {
    if (!this.stream.headersSent && !this.stream.closed) this.stream.additionalHeaders({ ':status': 102 })
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse
  }

  readonly #onTaken = (): void => {
    this.takenChunks += 1
  }
}

Object.defineProperties(Http2Response.prototype, {
  // Node's class lacks this property, although its types have it.
  destroyed: {
    get(this: Http2Response) {
      return this.stream.destroyed || this.stream.closed
    },
  },
  // If the client resets a stream, Node ends the response.
  writableFinished: {
    get(this: Http2Response) {
      return this.stream.writableFinished && !this.stream.aborted
    },
  },
})
