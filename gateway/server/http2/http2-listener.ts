import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type CloseRules, HTTP1_RULES } from '../../../platform/net/graceful-close.ts'
import { normalizeIp } from '../../../platform/net/normalize-ip.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { formatRejection } from '../../pipeline/error-response.ts'
import {
  CLOSE_TIMEOUT_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  REQUEST_TIMEOUT_MS,
  type ServerOptions,
} from '../server.ts'
import type { Http2Acceptor } from '../tls/tls-server.ts'
import { CheckedSocket } from './checked-socket.ts'
import { ClientFrames } from './client-frames.ts'
import { Http2Request, Http2Response } from './http2-messages.ts'

/** Serves the connections of a TLS server whose clients have chosen HTTP/2. */
export type Http2Listener = Http2Acceptor & {
  /** For a server with connections of both protocols. */
  readonly closeRules: CloseRules
}

export type Http2ListenerOptions = Pick<
  ServerOptions,
  'headersLimitBytes' | 'handle' | 'newRequestId' | 'connectionsLimit' | 'onUnparsed' | 'tls'
> & {
  /** Monotonic clock. Milliseconds. */
  readonly tickMs: () => number
}

type Exchange = {
  readonly request: Http2Request
  readonly response: Http2Response
  readonly startedMs: number
  takenChunks: number
  takenMs: number
}

type Connection = {
  readonly socket: TLSSocket
  readonly session: ServerHttp2Session
  readonly exchanges: Set<Exchange>
  /** Open streams by their identifiers. */
  readonly streams: Map<number, ServerHttp2Stream>
  /** Start of the time without a stream, or of the close by the gateway. */
  idleMs: number
  /** Whether a request has started. */
  hasServed: boolean
  budget: number
  budgetMs: number
}

/** Concurrent streams of a connection. Browsers and proxies open a further connection for more requests. */
const MAX_STREAMS = 100
/** Headers of a request. The limit in bytes is usually reached first. */
const MAX_HEADERS = 2_000
/**
 * Memory of a connection for the parts of bodies that wait in all streams, header tables and queued frames. A stream can
 * hold 64 KiB in each direction. Megabytes.
 */
const MAX_SESSION_MEMORY_MB = 16
/**
 * Frames that cost the gateway work, but give the client no response: PING, SETTINGS and aborted streams. A browser that
 * leaves a page aborts up to 100 streams.
 */
const BUDGET = 500
const BUDGET_PER_SECOND = 50
/** Time in which a client must take a part of a response. Milliseconds. */
const STALL_TIMEOUT_MS = 60_000
/** Time in which the last bytes of a stream that is closed must leave the gateway. Milliseconds. */
const RESET_TIMEOUT_MS = 5_000
const CHECK_INTERVAL_MS = 500

const {
  NGHTTP2_CANCEL,
  NGHTTP2_ENHANCE_YOUR_CALM,
  NGHTTP2_FLOW_CONTROL_ERROR,
  NGHTTP2_NO_ERROR,
  NGHTTP2_REFUSED_STREAM,
  NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE,
  NGHTTP2_STREAM_STATE_OPEN,
} = constants

/**
 * Creates the HTTP/2 part of the public server. Each request passes through the same pipeline as a request of HTTP/1.1.
 * The TLS server keeps its HTTP/1.1 code: `http2.createSecureServer()` has other time limits for HTTP/1.1.
 */
export function createHttp2Listener(options: Http2ListenerOptions): Http2Listener {
  const { headersLimitBytes, connectionsLimit, tickMs } = options
  const connections = new Map<TLSSocket, Connection>()
  let openStreams = 0
  let timer: NodeJS.Timeout | undefined

  const server = createServer({
    settings: {
      enablePush: false,
      maxConcurrentStreams: MAX_STREAMS,
      // Node resets a stream above this size. Twice the limit leaves room for the response 431.
      maxHeaderListSize: 2 * headersLimitBytes,
    },
    maxHeaderListPairs: MAX_HEADERS,
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    streamResetBurst: BUDGET,
    streamResetRate: BUDGET_PER_SECOND,
    // An upstream can repeat every header. RFC 9110 section 5.2.
    strictSingleValueFields: false,
  })
  /** Set while `accept()` gives a connection to Node.js, which creates the session at once. */
  let accepted: ((session: ServerHttp2Session) => void) | undefined
  server.on('session', (session) => accepted?.(session))

  function open(
    socket: TLSSocket,
    checked: CheckedSocket,
    session: ServerHttp2Session,
    frames: ClientFrames,
  ): Connection {
    const nowMs = tickMs()
    const connection: Connection = {
      socket,
      session,
      exchanges: new Set(),
      streams: new Map(),
      idleMs: nowMs,
      hasServed: false,
      budget: BUDGET,
      budgetMs: nowMs,
    }
    connections.set(socket, connection)
    timer ??= setInterval(checkAll, CHECK_INTERVAL_MS).unref()
    const spend = (): void => {
      if (hasBudget(connection, tickMs()) || session.destroyed) return
      options.tls?.onHttp2Failure('flood')
      abort(session, NGHTTP2_ENHANCE_YOUR_CALM)
    }
    session.on('ping', spend).on('remoteSettings', spend)
    session.on('goaway', () => {
      if (frames.connectionError === undefined || session.destroyed) return
      options.tls?.onHttp2Failure('protocol')
      abort(session, frames.connectionError)
    })
    session.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code?.startsWith('ERR_HTTP2') === true) options.tls?.onHttp2Failure('protocol')
    })
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      stream.on('error', () => undefined)
      // After RST_STREAM with NO_ERROR, Node waits until both directions are read and written, which may never happen.
      stream.once('aborted', () => {
        if (stream.rstCode === NGHTTP2_NO_ERROR) stream.destroy()
      })
      if (openStreams >= connectionsLimit) {
        stream.close(NGHTTP2_REFUSED_STREAM)
        return
      }
      openStreams += 1
      const id = stream.id as number
      connection.streams.set(id, stream)
      stream.once('close', () => {
        openStreams -= 1
        connection.streams.delete(id)
        connection.idleMs = tickMs()
        if (stream.rstCode !== NGHTTP2_NO_ERROR) spend()
      })
      if (frames.hasFailed(id)) {
        stream.close(NGHTTP2_FLOW_CONTROL_ERROR)
        return
      }
      const request = new Http2Request(stream, headers, rawHeaders, socket)
      if (request.hasBody) stream.once('finish', () => resetUnread(request, checked))
      // A client can reset a stream in the packet that opens it. Such a request never starts.
      setImmediate(() => {
        if (!isEnded(stream)) start(connection, request, headBytes(rawHeaders))
      })
    })
    session.once('close', () => {
      connections.delete(socket)
      if (connections.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
    return connection
  }

  function start(connection: Connection, request: Http2Request, bytes: number): void {
    connection.hasServed = true
    if (bytes > headersLimitBytes) {
      reject(connection, request, { rejected: 'headers_too_large', limitBytes: headersLimitBytes })
      return
    }
    const { stream } = request
    const response = new Http2Response(stream, STALL_TIMEOUT_MS, () => close(connection))
    const nowMs = tickMs()
    const exchange = { request, response, startedMs: nowMs, takenChunks: 0, takenMs: nowMs }
    connection.exchanges.add(exchange)
    stream.once('close', () => connection.exchanges.delete(exchange))
    options.handle(request.asMessage(), response.asResponse())
  }

  /** Responds without the pipeline to a request that the gateway does not read. */
  function reject({ socket }: Connection, { stream, method }: Http2Request, rejection: Rejection): void {
    const requestId = options.newRequestId()
    const { status, body } = formatRejection(rejection, {
      requestId,
      resourceMetadata: '',
      tokenEndpoint: undefined,
    })
    const peer = normalizeIp(socket.remoteAddress)
    options.onUnparsed({ requestId, status, rejection, peer })
    const headers = {
      ':status': status,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'x-request-id': requestId,
      'x-scopegate-error': '1',
    }
    stream.respond(headers)
    stream.end(method === 'HEAD' ? undefined : body)
    // The client may never read the response.
    const deadline = setTimeout(() => {
      if (stream.closed) stream.destroy()
      else stream.close(NGHTTP2_CANCEL)
    }, RESET_TIMEOUT_MS)
    stream.once('close', () => clearTimeout(deadline))
  }

  function checkAll(): void {
    const nowMs = tickMs()
    for (const connection of connections.values()) {
      const { exchanges, hasServed, idleMs, session, socket } = connection
      for (const exchange of exchanges) check(connection, exchange, nowMs)
      const openMs = hasServed ? IDLE_TIMEOUT_MS : HEAD_TIMEOUT_MS
      const isClosing = session.closed || session.destroyed
      const limitMs = isClosing ? CLOSE_TIMEOUT_MS : openMs
      if (exchanges.size > 0 || nowMs - idleMs <= limitMs) continue
      // The client may never read the last frames, or never close its side of the connection.
      if (isClosing) socket.destroy()
      else close(connection)
    }
  }

  /**
   * Sends GOAWAY with the last accepted stream, so that the client can repeat later requests on another connection.
   * Node.js rejects later streams, and closes the connection after the last open stream. RFC 9113 section 6.8.
   */
  function close(connection: Connection): void {
    connection.idleMs = tickMs()
    connection.session.close()
  }

  function check(connection: Connection, exchange: Exchange, nowMs: number): void {
    const { request, response } = exchange
    const { stream } = response
    // The end of a response can wait in nghttp2 until the client reads the frames of other streams.
    const isWaiting = stream.writableLength > 0 || stream.writableEnded
    if (!isWaiting || response.takenChunks !== exchange.takenChunks) {
      exchange.takenChunks = response.takenChunks
      exchange.takenMs = nowMs
    }
    const stalledMs = nowMs - exchange.takenMs
    if (stream.closed) {
      // Node does not emit `aborted` if the gateway has the complete response. The last bytes can still be in transit.
      if (stalledMs > RESET_TIMEOUT_MS) stream.destroy()
    } else if (request.hasBody && !request.complete && nowMs - exchange.startedMs > REQUEST_TIMEOUT_MS) {
      if (response.headersSent) stream.close(NGHTTP2_CANCEL)
      else reject(connection, request, { rejected: 'request_timed_out' })
    } else if (stalledMs > response.stallTimeoutMs) stream.close(NGHTTP2_CANCEL)
  }

  return {
    accept(socket) {
      let connection: Connection | undefined
      const frames = new ClientFrames({
        onWindowError(id) {
          connection?.streams.get(id)?.close(NGHTTP2_FLOW_CONTROL_ERROR)
        },
        isShortBody(id, bodyBytes) {
          for (const { request, response } of connection?.exchanges ?? [])
            if (request.stream.id === id)
              return response.headersSent && bodyBytes < Number(request.headers['content-length'])
          return false
        },
        sentBytes: () => socket.bytesWritten,
      })
      const checked = new CheckedSocket(socket, (chunk) => frames.check(chunk))
      accepted = (session) => {
        connection = open(socket, checked, session, frames)
      }
      server.emit('connection', checked)
      accepted = undefined
    },
    closeRules: {
      isBusy(socket) {
        const connection = connections.get(socket as TLSSocket)
        return connection === undefined ? HTTP1_RULES.isBusy(socket) : connection.streams.size > 0
      },
      announce(server) {
        HTTP1_RULES.announce(server)
        // A connection that opens later ends with its first response, which has `connection: close`.
        for (const connection of connections.values()) close(connection)
      },
    },
  }
}

/**
 * Resets a stream whose response is complete, if the client still sends the body. RFC 9113 section 8.1. nghttp2 sends
 * RST_STREAM before the waiting frames of the stream, so the end of the response must leave nghttp2 first.
 */
function resetUnread(request: Http2Request, checked: CheckedSocket): void {
  const { stream } = request
  if (request.complete || isEnded(stream)) return
  const { state } = stream.state
  if (state !== NGHTTP2_STREAM_STATE_OPEN && state !== NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE)
    stream.close(NGHTTP2_NO_ERROR)
  else checked.once('write', () => setImmediate(resetUnread, request, checked))
}

/** Closes a connection at once. The client gets GOAWAY with the code. */
function abort(session: ServerHttp2Session, code: number): void {
  // Without an error, Node.js sends NO_ERROR. Its types do not permit null.
  session.destroy(null as unknown as undefined, code)
}

/** Takes one frame from the budget of a connection. Returns whether the budget was sufficient. */
function hasBudget(connection: Connection, nowMs: number): boolean {
  const refilled = connection.budget + ((nowMs - connection.budgetMs) / 1_000) * BUDGET_PER_SECOND
  connection.budget = Math.min(BUDGET, refilled) - 1
  connection.budgetMs = nowMs
  return connection.budget >= 0
}

/** After RST_STREAM, respond() throws ERR_HTTP2_INVALID_STREAM. */
function isEnded(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed
}

/** Returns the size of the same head in HTTP/1.1. Bytes. */
function headBytes(rawHeaders: readonly string[]): number {
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length + 2
  return bytes
}
