import type { ServerOptions as HttpOptions, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { http } from '../../platform/net/http.ts'
import { NO_SCHEMA_COMPILERS } from '../../platform/net/no-schema-compilers.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import type { UnreadRequest } from '../observability/unread-request.ts'
import { formatRefusal } from '../pipeline/respond-refused.ts'
import { isDrainingBody, isLingering } from '../pipeline/send-reply.ts'
import { asksForWebsocket } from '../upstreams/websocket/handshake.ts'
import { normalizeIp } from './normalize-ip.ts'
import { lastCompleteWaiting, serializePipelined } from './serialize-pipelined.ts'
import { createTlsServer, type TlsOptions } from './tls/tls-server.ts'
import { acceptUpgrade, type UpgradedConnection } from './upgraded-connection.ts'

/**
 * What the public server passes requests to, and what it refuses before that. `headersLimitBytes` is for a whole
 * head.
 */
export type ServerOptions = {
  readonly headersLimitBytes: number
  readonly handle: (request: IncomingMessage, response: ServerResponse, upgraded?: UpgradedConnection) => void
  /** Whether there is anything that may become a WebSocket. */
  readonly hasWebsockets: () => boolean
  readonly newRequestId: () => string
  /** Connections beyond these are closed unread. */
  readonly connectionsLimit: number
  readonly onRefused: () => void
  /** Told of what was answered and never became a request: bytes that are none, or too slow, or too many. */
  readonly onUnread: (unread: UnreadRequest) => void
  /** undefined: plain HTTP. */
  readonly tls: TlsOptions | undefined
  /** The system gives no connection, e.g. EMFILE; the server goes on. */
  readonly onAcceptError: (error: Error) => void
}

/** A head that takes longer is an attack or a broken client. Milliseconds. */
const HEAD_TIMEOUT_MS = 10_000
/** Head and body together; long uploads need a faster line than that. Milliseconds. */
const REQUEST_TIMEOUT_MS = 60_000
/** Longer than the 60 s of common load balancers, so that they close an idle connection first. Milliseconds. */
const IDLE_TIMEOUT_MS = 72_000
const TIMEOUT_CHECK_MS = 500
/** A client that was told that its connection ends has this long to end its side of it. Milliseconds. */
const LAST_WORDS_MS = 2_000

const ended = new WeakSet<Socket>()

/**
 * Makes the public server. Fastify holds listening, refused connections and shutdown; requests go to one handler as they
 * came and do not pass Fastify's router, because routes are a snapshot of policies that can be replaced, and so is the way
 * to them.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  return Fastify({
    logger: false,
    schemaController: NO_SCHEMA_COMPILERS,
    forceCloseConnections: false, // platform/net/graceful-close.ts ends them
    serverFactory: () => createHttpServer(options),
    clientErrorHandler: (error, socket) => answerClientError(error, socket, options),
  })
}

/** Called once for each address that is listened on. */
function createHttpServer(options: ServerOptions): Server {
  const settings: HttpOptions = {
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxHeaderSize: options.headersLimitBytes,
    headersTimeout: HEAD_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    insecureHTTPParser: false,
    requireHostHeader: false, // checked in stage 1, which answers with a body
    noDelay: true,
    // Whatever else is offered is not taken: such a request is one like any other.
    shouldUpgradeCallback: (request) => options.hasWebsockets() && asksForWebsocket(request),
  }
  const server =
    options.tls === undefined ? http.createServer(settings) : createTlsServer(settings, options.tls)
  server.maxConnections = options.connectionsLimit
  // A worker's share is its own: no other one is asked. Missing in the types of Node 24.
  Object.assign(server, { dropMaxConnection: true })
  server.on('drop', options.onRefused)
  server.on('error', (error) => {
    if (server.listening) options.onAcceptError(error)
  })
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    serializePipelined(request, response, options.handle)
  server.on('request', serve)
  // A client that waits for a go-ahead gets it when its request is forwarded, or an answer instead.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('upgrade', (request, socket, head) => {
    // Behind the last answer of its connection, as in in-turn.ts.
    if (!request.socket.writable) return
    const { response, upgraded } = acceptUpgrade(request, socket, head)
    options.handle(request, response, upgraded)
  })
  // Nothing here is a tunnel to anywhere. RFC 9110 section 9.3.6.
  server.on('connect', (_request, socket) =>
    sendRaw(
      socket as Socket,
      { refused: 'request_malformed', detail: 'CONNECT is not served here.' },
      options,
    ),
  )
  return server
}

/** Bytes that are not a request, or too slow, or too many. */
function answerClientError(error: ClientError, socket: Socket, options: ServerOptions) {
  const isHead = isHeadRequest(error)
  switch (error.code) {
    case 'ECONNRESET':
      socket.destroy()
      return
    case 'HPE_HEADER_OVERFLOW':
      return sendRaw(
        socket,
        { refused: 'headers_too_large', limitBytes: options.headersLimitBytes },
        options,
        isHead,
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return sendRaw(socket, { refused: 'request_timed_out' }, options)
    default:
      return sendRaw(
        socket,
        { refused: 'request_malformed', detail: 'This is not an HTTP/1.1 request.' },
        options,
        isHead,
      )
  }
}

/** Errors of the parser name the packet and the position of its first invalid byte. */
type ClientError = Error & { code?: string; rawPacket?: unknown; bytesParsed?: number }

/** Whether an invalid request head begins with `HEAD`. An earlier packet with the method is not available any more. */
function isHeadRequest({ rawPacket, bytesParsed }: ClientError): boolean {
  const read = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1', 0, bytesParsed) : ''
  const start = read.lastIndexOf('\nHEAD ') + 1
  if (!read.startsWith('HEAD ', start)) return false
  const end = read.indexOf('\r\n\r\n', start)
  return end === -1 || end + 4 === read.length
}

/** Answers where there is no response object, and ends the connection: what comes next on it cannot be trusted. */
function sendRaw(socket: Socket, refusal: Refusal, options: ServerOptions, isHead = false): void {
  // A parser that has failed fails again on every further byte.
  if (ended.has(socket)) return
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  if (!socket.writable) {
    socket.destroy()
    return
  }
  ended.add(socket)
  // Requests that came whole are answered before what is wrong behind them counts.
  const answering = current?.req.complete === true && !current.writableEnded ? current : undefined
  const last = lastCompleteWaiting(socket) ?? answering
  if (last !== undefined) {
    last.once('finish', () => endConnection(socket))
    return
  }
  if (current?.headersSent === true) {
    // An answer is on its way and must not get another one into it. A whole one is let through, half a one is cut off.
    if (current.writableEnded || isLingering(current)) endConnection(socket)
    else socket.destroy()
    return
  }
  // What is wrong is the rest of a body whose request has its answer.
  if (isDrainingBody(socket)) {
    endConnection(socket)
    return
  }
  const requestId = options.newRequestId()
  const { status, body } = formatRefusal(refusal, {
    requestId,
    resourceMetadata: '',
    tokenEndpoint: undefined,
  })
  // A request whose body broke off is told of when it is over.
  if (current === undefined || current === null)
    options.onUnread({
      requestId,
      status,
      refused: refusal.refused,
      peer: normalizeIp(socket.remoteAddress),
    })
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    `x-request-id: ${requestId}`,
    'x-scopegate-error: 1',
    'connection: close',
  ]
  // RFC 9110 section 9.3.2: a response to HEAD has no content.
  const content = isHead || current?.req.method === 'HEAD' ? '' : body
  endConnection(socket, `${head.join('\r\n')}\r\n\r\n${content}`)
}

/** Whoever does not end its own side of a connection does not keep ours. */
function endConnection(socket: Socket, lastWords = ''): void {
  socket.end(lastWords)
  const deadline = setTimeout(() => socket.destroy(), LAST_WORDS_MS)
  socket.once('close', () => clearTimeout(deadline))
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}
