import type { Duplex } from 'node:stream'
import { isValueCharacter } from './characters.ts'
import { ChunkedDecoder } from './chunked-decoder.ts'
import type { Dispatch } from './dispatch.ts'
import { RequestBodyWriter } from './request-body-writer.ts'
import { parseResponseHead, type ResponseHead } from './response-head.ts'
import { UpstreamError } from './upstream-error.ts'

/** Callbacks of a connection to its pool. */
export type ConnectionOwner = {
  /** The exchange is complete, and the connection can take another exchange. */
  released(connection: Connection): void
  closed(connection: Connection): void
  /** The protocol changed. The connection stays open, and its owner no longer closes it. */
  upgraded(connection: Connection): void
}

const CR = 13
const LF = 10
const HEAD_END = '\r\n\r\n'
const HEAD_LIMIT_BYTES = 32 * 1024
/**
 * Maximum size of a body that the gateway forwards as text, which costs less than forwarding bytes. The body must also
 * arrive together with the head. Bytes.
 */
const TEXT_BYTES = 16 * 1024
const UNTIL_CLOSE = -1

type Phase = 'head' | 'sized' | 'chunked' | 'until-close'

/**
 * One connection to an upstream, with one exchange at a time. Bytes between two exchanges, or after the end of a
 * response, close the connection.
 * Source: RFC 9112 sections 6.3 and 9.
 */
export class Connection {
  readonly socket: Duplex
  /** The connection expires when the number of idle checks of the pool reaches this value. */
  idleUntilLook = 0
  /** Idle timeout that the upstream announced; undefined: no announced timeout. Milliseconds. */
  keepAliveMs: number | undefined
  readonly #owner: ConnectionOwner
  #dispatch: Dispatch | undefined
  #body: RequestBodyWriter | undefined
  #phase: Phase = 'head'
  /** Received part of an incomplete head. */
  #text = ''
  #head: ResponseHead | undefined
  #remaining = 0
  #chunks: ChunkedDecoder | undefined
  #paused = false
  #rest: Buffer | undefined
  #silence: NodeJS.Timeout | undefined
  #error: Error | undefined
  #dropped = false

  constructor(socket: Duplex, owner: ConnectionOwner) {
    this.socket = socket
    this.#owner = owner
    socket.on('error', this.#onError)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
  }

  get usable(): boolean {
    return !this.#dropped && this.#dispatch === undefined && this.socket.writable && this.socket.readable
  }

  send(dispatch: Dispatch): void {
    const { socket } = this
    const { body } = dispatch.request
    this.#dispatch = dispatch
    dispatch.connection = this
    this.#phase = 'head'
    this.#head = undefined
    socket.write(dispatch.head, 'latin1')
    this.#body =
      body === undefined
        ? undefined
        : new RequestBodyWriter({
            socket,
            body,
            contentLength: dispatch.contentLength,
            onFailure: (error) => this.#fail(error),
          })
  }

  /**
   * Reads received bytes.
   * @param bytes valid during the call only.
   */
  receive(bytes: Buffer): void {
    const dispatch = this.#dispatch
    if (dispatch === undefined) {
      this.drop()
      return
    }
    try {
      if (this.#phase === 'head') this.#receiveHead(bytes)
      else this.#receiveBody(Buffer.from(bytes))
    } catch (error) {
      this.#endAfterException(dispatch, error)
    }
  }

  pause(): void {
    if (this.#paused || this.#dispatch === undefined) return
    this.#paused = true
    clearTimeout(this.#silence)
    this.#silence = undefined
    this.socket.pause()
  }

  resume(): void {
    const dispatch = this.#dispatch
    if (!this.#paused || dispatch === undefined) return
    this.#paused = false
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) {
      try {
        this.#receiveBody(rest)
      } catch (error) {
        this.#endAfterException(dispatch, error)
      }
    } else this.#watchSilence()
    if (!this.#paused && !this.#dropped) this.socket.resume()
  }

  /** Closes the connection without a further call of the handler. */
  drop(): void {
    this.#leave()
    this.#dropped = true
    this.socket.destroy()
  }

  #receiveHead(bytes: Buffer): void {
    const size = Math.min(bytes.length, TEXT_BYTES)
    const came = bytes.toString('latin1', 0, size)
    const more = size < bytes.length ? Buffer.from(bytes.subarray(size)) : undefined
    const checked = this.#text.length
    const text = checked === 0 ? came : this.#text + came
    let from = 0
    for (;;) {
      const end = text.indexOf(HEAD_END, from)
      if (end === -1) {
        if (text.length - from > HEAD_LIMIT_BYTES || looksWrong(text, from)) throw tooLarge()
        if (hasInvalidCharacter(text, Math.max(from, checked - 1))) throw invalidCharacter()
        this.#text = from === 0 ? text : text.slice(from)
        if (more !== undefined) this.#receiveHead(more)
        return
      }
      if (end - from > HEAD_LIMIT_BYTES) throw tooLarge()
      const head = parseResponseHead(from === 0 ? text : text.slice(from), end - from + 2)
      from = end + HEAD_END.length
      this.#text = ''
      if (head.status < 200) {
        if (this.#takeInterim(head, text.slice(from), more)) return
        continue
      }
      this.#begin(head, text, from, more)
      return
    }
  }

  /** @returns whether this connection reads no further bytes of the exchange. */
  #takeInterim(head: ResponseHead, rest: string, more: Buffer | undefined): boolean {
    const dispatch = this.#dispatch as Dispatch
    if (head.status !== 101) {
      dispatch.handler.onResponseStart(dispatch, head.status, head.headers)
      return this.#dispatch !== dispatch
    }
    if (!dispatch.request.upgrade)
      throw new UpstreamError('ERR_UPSTREAM_PROTOCOL', 'the upstream switches protocols without a request')
    const { socket } = this
    this.#leave()
    this.#dropped = true
    socket.pause()
    socket.removeAllListeners('data')
    socket.off('error', this.#onError)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    this.#owner.upgraded(this)
    if (more !== undefined) socket.unshift(more)
    if (rest !== '') socket.unshift(Buffer.from(rest, 'latin1'))
    dispatch.over = true
    dispatch.handler.onRequestUpgrade(dispatch, head.status, head.headers, socket)
    if (!socket.destroyed) socket.resume()
    return true
  }

  /** Handles a complete head. The body may follow: in `text` from position `from` on, and in `more`. */
  #begin(head: ResponseHead, text: string, from: number, more: Buffer | undefined): void {
    const dispatch = this.#dispatch as Dispatch
    const { handler, request } = dispatch
    this.#head = head
    const length = bodyLength(head, request.method)
    handler.onResponseStart(dispatch, head.status, head.headers)
    if (this.#dispatch !== dispatch) return
    const inText = text.length - from
    if (length !== undefined && more === undefined && inText >= length && length <= TEXT_BYTES) {
      this.#complete(inText > length)
      dispatch.over = true
      if (length === 0) handler.onResponseEnd()
      else handler.onResponseText(inText === length ? text.slice(from) : text.slice(from, from + length))
      return
    }
    if (length !== undefined) this.#phase = 'sized'
    else if (head.chunked) {
      this.#phase = 'chunked'
      this.#chunks = new ChunkedDecoder()
    } else this.#phase = 'until-close'
    this.#remaining = length ?? UNTIL_CLOSE
    const first = Buffer.from(inText === 0 ? '' : text.slice(from), 'latin1')
    this.#receiveBody(more === undefined ? first : first.length === 0 ? more : Buffer.concat([first, more]))
  }

  /** @param bytes owned by the connection. */
  #receiveBody(bytes: Buffer): void {
    if (this.#paused) {
      // Bytes may still arrive after the gateway has paused the socket.
      this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
      return
    }
    const dispatch = this.#dispatch as Dispatch
    const read = this.#phase === 'chunked' ? this.#decode(bytes, dispatch) : this.#pass(bytes, dispatch)
    if (this.#dispatch !== dispatch) return
    const whole = this.#phase === 'chunked' ? this.#chunks?.done === true : this.#remaining === 0
    if (whole) {
      this.#complete(read < bytes.length)
      dispatch.over = true
      dispatch.handler.onResponseEnd()
      return
    }
    if (read < bytes.length) this.#rest = bytes.subarray(read)
    if (!this.#paused) this.#watchSilence()
  }

  /** @returns the number of bytes that belong to the body. */
  #pass(bytes: Buffer, dispatch: Dispatch): number {
    const size = this.#remaining === UNTIL_CLOSE ? bytes.length : Math.min(bytes.length, this.#remaining)
    if (this.#remaining !== UNTIL_CLOSE) this.#remaining -= size
    if (size > 0)
      dispatch.handler.onResponseData(dispatch, size === bytes.length ? bytes : bytes.subarray(0, size))
    return size
  }

  #decode(bytes: Buffer, dispatch: Dispatch): number {
    return (this.#chunks as ChunkedDecoder).decode(bytes, (piece) => {
      dispatch.handler.onResponseData(dispatch, piece)
      return this.#dispatch === dispatch && !this.#paused
    })
  }

  #complete(moreCame: boolean): void {
    const head = this.#head as ResponseHead
    const { request } = this.#dispatch as Dispatch
    const sent = this.#body === undefined || this.#body.done
    const paused = this.#paused
    this.#leave()
    if (
      moreCame ||
      !sent ||
      !head.keepsAlive ||
      this.#phase === 'until-close' ||
      mayPrecedeContent(head, request.method)
    )
      this.drop()
    else {
      this.keepAliveMs = head.keepAliveMs
      if (paused) this.socket.resume()
      this.#owner.released(this)
    }
  }

  /** Forwards the bytes that wait for a slow client, after the upstream has closed the connection. */
  #flushRest(): void {
    while (this.#rest !== undefined) {
      const rest = this.#rest
      this.#rest = undefined
      this.#paused = false
      this.#receiveBody(rest)
    }
  }

  /**
   * Closes the connection after an exception. The exception therefore affects only this exchange. The parser throws an
   * `UpstreamError`. Every other exception comes from the handler.
   */
  #endAfterException(dispatch: Dispatch, error: unknown): void {
    this.drop()
    if (error instanceof UpstreamError) {
      dispatch.fail(error)
      return
    }
    dispatch.over = true
    dispatch.handler.handlerFailed(error)
  }

  #fail(error: Error): void {
    const dispatch = this.#dispatch
    this.drop()
    dispatch?.fail(error)
  }

  #leave(): void {
    clearTimeout(this.#silence)
    this.#silence = undefined
    this.#body?.stop()
    this.#body = undefined
    this.#dispatch = undefined
    this.#text = ''
    this.#rest = undefined
    this.#chunks = undefined
    this.#paused = false
  }

  #watchSilence(): void {
    if (this.#silence !== undefined) this.#silence.refresh()
    else if (this.#head !== undefined)
      this.#silence = setTimeout(onSilence, (this.#dispatch as Dispatch).request.idleTimeoutMs, this)
  }

  fellSilent(): void {
    this.#fail(
      new UpstreamError('ERR_UPSTREAM_IDLE', 'the upstream sent no bytes of its response for too long'),
    )
  }

  readonly #onError = (error: Error): void => {
    this.#error = error
  }

  readonly #onEnd = (): void => {
    const dispatch = this.#dispatch
    if (dispatch === undefined) {
      this.drop()
      return
    }
    try {
      this.#flushRest()
      if (this.#dispatch === undefined || this.#phase !== 'until-close') {
        this.#fail(closed(this.#error))
        return
      }
      this.drop()
      dispatch.over = true
      dispatch.handler.onResponseEnd()
    } catch (error) {
      this.#endAfterException(dispatch, error)
    }
  }

  readonly #onClose = (): void => {
    this.#fail(this.#error ?? closed(undefined))
    this.#owner.closed(this)
  }
}

function onSilence(connection: Connection): void {
  connection.fellSilent()
}

/**
 * Returns the length of the body in bytes. Undefined: chunks or the end of the connection delimit the body. RFC 9112
 * section 6.3.
 */
function bodyLength({ status, chunked, contentLength }: ResponseHead, method: string): number | undefined {
  if (method === 'HEAD' || status === 204 || status === 304) return 0
  return chunked ? undefined : contentLength
}

/**
 * Returns whether the upstream may wrongly send content after this head. Such content could arrive after the next
 * request was written. The gateway would then read the content as the response to that request. RFC 9110 sections
 * 9.3.2, 15.3.5 and 15.4.5.
 */
function mayPrecedeContent({ status, chunked, contentLength = 0 }: ResponseHead, method: string): boolean {
  return method === 'HEAD' || ((status === 204 || status === 304) && (chunked || contentLength > 0))
}

/** Returns whether an incomplete head cannot become an HTTP/1.x response. */
function looksWrong(text: string, from: number): boolean {
  return !'HTTP/1.'.startsWith(text.slice(from, from + 7))
}

/**
 * Returns whether part of an incomplete head contains a character that is invalid in every head. Without CRLF, the
 * gateway would never find the end of the head. RFC 9112 section 2.2.
 */
function hasInvalidCharacter(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === LF ? text.charCodeAt(at - 1) !== CR : code !== CR && !isValueCharacter(code)) return true
    if (code === CR && at + 1 < text.length && text.charCodeAt(at + 1) !== LF) return true
  }
  return false
}

function invalidCharacter(): UpstreamError {
  return new UpstreamError(
    'ERR_UPSTREAM_PROTOCOL',
    'the response head has an invalid character or line break',
  )
}

function tooLarge(): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_PROTOCOL', 'the response head is too large, or not HTTP/1.x')
}

function closed(cause: Error | undefined): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_RESET', 'the connection ended before the response was complete', {
    cause,
  })
}
