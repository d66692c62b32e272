import type { ServerOptions as HttpOptions, IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { http } from '../../platform/net/http.ts'
import { NO_SCHEMA_COMPILERS } from '../../platform/net/no-schema-compilers.ts'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { UnparsedRequest } from '../observability/unparsed-request.ts'
import { formatRejection } from '../pipeline/error-response.ts'
import { isDrainingBody, isLingering, type TextReply } from '../pipeline/send-reply.ts'
import { isWebsocketHandshake } from '../upstreams/websocket/handshake.ts'
import { lastCompleteWaiting, serializePipelined } from './serialize-pipelined.ts'
import { createTlsServer, type Http2Acceptor, type TlsOptions } from './tls/tls-server.ts'
import { acceptUpgrade, type UpgradedConnection } from './upgraded-connection.ts'

/** Options for `createServer()`. `headersLimitBytes` applies to the complete request head. */
export type ServerOptions = {
  readonly headersLimitBytes: number
  readonly handle: (request: IncomingMessage, response: ServerResponse, upgraded?: UpgradedConnection) => void
  readonly hasWebsockets: () => boolean
  readonly newRequestId: () => string
  /** Maximum number of connections. The server closes further connections without reading data. */
  readonly connectionsLimit: number
  readonly onConnectionRejected: () => void
  /**
   * Called when the server rejects input that is not a complete request, because the input is invalid, too slow or too
   * large.
   */
  readonly onUnparsed: (unparsed: UnparsedRequest) => void
  /** Changes the response to such input. undefined: the client gets the response unchanged. */
  readonly adaptDenial?: ((reply: TextReply) => TextReply) | undefined
  /** undefined: plain HTTP. */
  readonly tls: TlsOptions | undefined
  /** Serves the TLS connections whose clients choose HTTP/2. undefined: only HTTP/1.1. */
  readonly http2?: Http2Acceptor | undefined
  /** Called when the operating system cannot accept a connection, for example with EMFILE. The server continues. */
  readonly onAcceptError: (error: Error) => void
}

/** Limit for receiving a request head. A slower client is broken or attacks the gateway. Milliseconds. */
export const HEAD_TIMEOUT_MS = 10_000
/**
 * Limit for receiving head and body together. A large upload needs a connection that is fast enough for this limit.
 * Milliseconds.
 */
export const REQUEST_TIMEOUT_MS = 60_000
/**
 * Idle timeout of a connection. The timeout is longer than the usual 60 s of load balancers, so that a load balancer
 * closes an idle connection first. Milliseconds.
 */
export const IDLE_TIMEOUT_MS = 72_000
const TIMEOUT_CHECK_MS = 500
/** Maximum time between the FIN of the gateway and the FIN of the client. Milliseconds. */
export const CLOSE_TIMEOUT_MS = 2_000

const closing = new WeakSet<Socket>()

/**
 * Creates the public server. Fastify manages listening, dropped connections and shutdown. Requests bypass Fastify's
 * router and go to one handler, because a policy reload replaces the routes.
 */
export function createServer(options: ServerOptions, serverFactory = createHttpServer): FastifyInstance {
  return Fastify({
    logger: false,
    schemaController: NO_SCHEMA_COMPILERS,
    forceCloseConnections: false, // platform/net/graceful-close.ts closes the connections
    serverFactory: () => limitConnections(serverFactory(options), options),
    clientErrorHandler: (error, socket) => respondToClientError(error, socket, options),
  })
}

/** Fastify calls this function once for each listening address. */
function createHttpServer(options: ServerOptions): Server {
  const settings: HttpOptions = {
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    maxHeaderSize: options.headersLimitBytes,
    headersTimeout: HEAD_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    insecureHTTPParser: false,
    requireHostHeader: false, // stage 1 checks the Host header and responds with a body
    noDelay: true,
    // If this function returns false, Node treats the request as a request without `Upgrade`.
    shouldUpgradeCallback: (request) => options.hasWebsockets() && isWebsocketHandshake(request),
  }
  const server =
    options.tls === undefined
      ? http.createServer(settings)
      : createTlsServer(settings, options.tls, options.http2)
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    serializePipelined(request, response, options.handle)
  server.on('request', serve)
  // The pipeline sends the 100 response when the pipeline forwards the request. Otherwise the pipeline sends only a
  // final response.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('upgrade', (request, socket, head) => {
    // Ignores a request after the final response of its connection, as `serialize-pipelined.ts` does.
    if (!request.socket.writable) return
    const { response, upgraded } = acceptUpgrade(request, socket, head)
    options.handle(request, response, upgraded)
  })
  // The gateway does not support CONNECT tunnels. RFC 9110 section 9.3.6.
  server.on('connect', (_request, socket) =>
    sendRaw(
      socket as Socket,
      { rejected: 'request_malformed', detail: 'CONNECT is not supported.' },
      options,
    ),
  )
  return server
}

function limitConnections<S extends NetServer>(server: S, options: ServerOptions): S {
  server.maxConnections = options.connectionsLimit
  // `maxConnections` applies to this worker alone: node:cluster must not offer the connection to another worker. The
  // types of Node 24 lack this option.
  Object.assign(server, { dropMaxConnection: true })
  server.on('drop', options.onConnectionRejected)
  server.on('error', (error) => {
    if (server.listening) options.onAcceptError(error)
  })
  return server
}

function respondToClientError(error: ClientError, socket: Socket, options: ServerOptions) {
  const isHead = isHeadRequest(error)
  switch (error.code) {
    case 'ECONNRESET':
      socket.destroy()
      return
    case 'HPE_HEADER_OVERFLOW':
      return sendRaw(
        socket,
        { rejected: 'headers_too_large', limitBytes: options.headersLimitBytes },
        options,
        isHead,
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return sendRaw(socket, { rejected: 'request_timed_out' }, options)
    default:
      return sendRaw(
        socket,
        { rejected: 'request_malformed', detail: 'The request is not valid HTTP/1.1.' },
        options,
        isHead,
      )
  }
}

/** Parser errors contain the packet and the position of its first invalid byte. */
type ClientError = Error & { code?: string; rawPacket?: unknown; bytesParsed?: number }

/**
 * Returns whether an invalid request head starts with `HEAD`. Returns false if the method was in an earlier packet,
 * which the error does not contain.
 */
function isHeadRequest({ rawPacket, bytesParsed }: ClientError): boolean {
  const read = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1', 0, bytesParsed) : ''
  const start = read.lastIndexOf('\nHEAD ') + 1
  if (!read.startsWith('HEAD ', start)) return false
  const end = read.indexOf('\r\n\r\n', start)
  return end === -1 || end + 4 === read.length
}

/**
 * Writes a response without a response object and closes the connection, because the next bytes of the connection
 * cannot be trusted.
 */
function sendRaw(socket: Socket, rejection: Rejection, options: ServerOptions, isHead = false): void {
  // After a failure, the parser fails again for every further byte.
  if (closing.has(socket)) return
  const current = (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage
  if (!socket.writable) {
    socket.destroy()
    return
  }
  closing.add(socket)
  // Complete requests on the connection get their responses first. The connection then closes because of the invalid
  // input.
  const currentResponse = current?.req.complete === true && !current.writableEnded ? current : undefined
  const last = lastCompleteWaiting(socket) ?? currentResponse
  if (last !== undefined) {
    last.once('finish', () => endConnection(socket))
    return
  }
  if (current?.headersSent === true) {
    // A response has started, so the gateway cannot send a second response. A completely written response still reaches
    // the client. A partial response ends with the connection.
    if (current.writableEnded || isLingering(current)) endConnection(socket)
    else socket.destroy()
    return
  }
  // The invalid input is the rest of the body of a request that already has a response.
  if (isDrainingBody(socket)) {
    endConnection(socket)
    return
  }
  const requestId = options.newRequestId()
  const { status, body } = formatRejection(rejection, {
    requestId,
    resourceMetadata: '',
    tokenEndpoint: undefined,
  })
  // A request with an invalid body gets its access log entry when its response is closed.
  if (current === undefined || current === null)
    options.onUnparsed({
      requestId,
      status,
      rejection,
      peer: normalizeIp(socket.remoteAddress),
    })
  const headers = ['content-type', 'application/json', 'cache-control', 'no-store', 'x-request-id', requestId]
  headers.push('x-scopegate-error', '1')
  const reply = { status, headers, body }
  const sent = options.adaptDenial?.(reply) ?? reply
  const lines = [`HTTP/1.1 ${sent.status} ${REASONS[sent.status] ?? 'Bad Request'}`]
  for (let at = 0; at < sent.headers.length; at += 2)
    lines.push(`${sent.headers[at]}: ${sent.headers[at + 1]}`)
  lines.push(`content-length: ${Buffer.byteLength(body)}`, 'connection: close')
  // RFC 9110 section 9.3.2: a response to HEAD has no content.
  const content = isHead || current?.req.method === 'HEAD' ? '' : body
  endConnection(socket, `${lines.join('\r\n')}\r\n\r\n${content}`)
}

/**
 * Closes the connection. If the client does not close the connection too, the gateway destroys the connection after
 * `CLOSE_TIMEOUT_MS`.
 */
function endConnection(socket: Socket, lastBytes = ''): void {
  socket.end(lastBytes)
  const deadline = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS)
  socket.once('close', () => clearTimeout(deadline))
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}
