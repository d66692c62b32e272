import type { IncomingMessage, Server } from 'node:http'
import http2, {
  constants,
  type ServerOptions as Http2Options,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { type GracefulClose, gracefulClose } from '../../platform/net/graceful-close.ts'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { UNTRUSTED_PEER } from '../pipeline/decision-endpoint.ts'
import { formatRejection } from '../pipeline/error-response.ts'
import type { ForwardedHeader, TrustedProxies } from '../server/client-address.ts'
import {
  CLOSE_TIMEOUT_MS,
  createServer,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  type ServerOptions,
} from '../server/server.ts'
import { openTlsServer } from '../server/tls/tls-server.ts'
import { CheckReply, toOriginalRequest } from './check-exchange.ts'
import { type CheckRequest, decodeCheckRequest, encodeCheckResponse } from './check-messages.ts'
import { MalformedMessage } from './protobuf.ts'

/** Options for `createCheckServer()`. */
export type CheckServerOptions = ServerOptions & {
  readonly targetLimitBytes: number
  readonly trustedProxies: TrustedProxies | undefined
  readonly forwardedHeader: ForwardedHeader
}

const GRPC_CONTENT = 'application/grpc'
const CHECK_PATH = '/envoy.service.auth.v3.Authorization/Check'
/** Source: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md */
const GRPC_UNIMPLEMENTED = 12
/** Compression flag and length of a message. Bytes. */
const PREFIX_BYTES = 5
/** Space in a check request beside target and headers, for example for a certificate and for metadata. Bytes. */
const OTHER_ATTRIBUTES_BYTES = 64 * 1024
/** Envoy opens a further connection when all streams of a connection are in use. */
const MAX_STREAMS = 100

type Connection = { readonly session: ServerHttp2Session; openStreams: number }

/**
 * Creates the decision endpoint for Envoy over gRPC. Each call has one request message and one response message, so the
 * server needs no gRPC library.
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export function createCheckServer(options: CheckServerOptions): {
  readonly server: FastifyInstance
  readonly connections: GracefulClose
} {
  const connected = new Map<string, Connection>()
  let isClosing = false

  function track(session: ServerHttp2Session): void {
    const key = connectionKey(session.socket)
    const connection: Connection = { session, openStreams: 0 }
    connected.set(key, connection)
    session.once('close', () => {
      if (connected.get(key) === connection) connected.delete(key)
    })
    session.on('error', () => undefined) // the peer broke the connection or the protocol
    session.setTimeout(IDLE_TIMEOUT_MS, () => session.close())
    // Otherwise, connections without a call could use the connection limit for the idle timeout.
    const firstCall = setTimeout(() => session.close(), HEAD_TIMEOUT_MS)
    const isUsed = (): void => clearTimeout(firstCall)
    session.once('stream', isUsed).once('close', isUsed)
    session.on('stream', (stream, headers) => {
      connection.openStreams += 1
      stream.once('close', () => {
        connection.openStreams -= 1
      })
      stream.on('error', () => undefined)
      // The other streams of the packet are then already open, so GOAWAY includes these streams.
      if (isClosing) setImmediate(() => session.close())
      handleStream(stream, headers, options)
    })
  }

  const server = createServer(options, () => createHttp2Server(options, track))
  const connections = gracefulClose(server.server, {
    isBusy: (socket) => (connected.get(connectionKey(socket))?.openStreams ?? 0) > 0,
    announce() {
      isClosing = true
      for (const { session } of connected.values()) session.close()
    },
  })
  return { server, connections }
}

/** Returns an HTTP/2 server as the type that Fastify requires. Fastify only opens and closes the server. */
function createHttp2Server(
  { tls, headersLimitBytes }: CheckServerOptions,
  onSession: (session: ServerHttp2Session) => void,
): Server {
  const settings: Http2Options = {
    settings: {
      enablePush: false,
      maxConcurrentStreams: MAX_STREAMS,
      maxHeaderListSize: headersLimitBytes,
    },
  }
  const server =
    tls === undefined
      ? http2.createServer(settings)
      : openTlsServer((options) => http2.createSecureServer({ ...settings, ...options }), tls)
  server.on('session', onSession)
  // After the end of a session, the client may never close its side of the connection.
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
    socket.once('finish', () => setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref())
  })
  return server as unknown as Server
}

function connectionKey({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${remoteAddress} ${remotePort}`
}

/** Reads the message of a call, and replies. A call that Envoy could describe gets a decision, and never a gRPC error. */
function handleStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  options: CheckServerOptions,
): void {
  const { headersLimitBytes, newRequestId, onUnparsed } = options
  const peer = normalizeIp(stream.session?.socket.remoteAddress)
  const deadline = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), HEAD_TIMEOUT_MS)
  const isReceived = (): void => clearTimeout(deadline)
  stream.once('end', isReceived).once('close', isReceived)

  const deny = (rejection: Rejection): void => {
    stream.removeAllListeners('data').off('end', decideReceived).resume()
    const requestId = newRequestId()
    const { status, body } = formatRejection(rejection, {
      requestId,
      resourceMetadata: '',
      tokenEndpoint: undefined,
    })
    onUnparsed({ requestId, status, rejection, peer })
    const denial = ['content-type', 'application/json', 'x-request-id', requestId, 'x-scopegate-error', '1']
    sendMessage(stream, encodeCheckResponse({ status, headers: denial, body }))
  }

  if (headers[':method'] !== 'POST' || !String(headers['content-type']).startsWith(GRPC_CONTENT)) {
    stream.respond({ ':status': 415 }, { endStream: true })
    return
  }
  if (headers[':path'] !== CHECK_PATH) {
    sendStatus(stream, GRPC_UNIMPLEMENTED)
    return
  }
  if (options.trustedProxies?.has(peer) !== true) {
    deny(UNTRUSTED_PEER)
    stream.session?.close()
    return
  }

  const limitBytes = headersLimitBytes + options.targetLimitBytes + OTHER_ATTRIBUTES_BYTES
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > limitBytes) deny({ rejected: 'headers_too_large', limitBytes: headersLimitBytes })
  })
  stream.on('end', decideReceived)

  function decideReceived(): void {
    const check = readCheckRequest(Buffer.concat(chunks))
    if (check === undefined) sendStatus(stream, GRPC_UNIMPLEMENTED)
    else if ('rejected' in check) deny(check)
    else decide(stream, toOriginalRequest(check, { peer, forwardedHeader: options.forwardedHeader }), options)
  }
}

/** Runs the pipeline, and sends its reply. */
function decide(stream: ServerHttp2Stream, request: IncomingMessage, { handle }: CheckServerOptions): void {
  const reply = new CheckReply(
    (local) => sendMessage(stream, encodeCheckResponse(local)),
    () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  )
  stream.once('close', () => reply.close(stream.rstCode === constants.NGHTTP2_NO_ERROR))
  handle(request, reply.asResponse())
}

/**
 * Decodes the message of a call.
 * @returns undefined for a compressed message, which the gateway does not support.
 */
function readCheckRequest(received: Buffer): CheckRequest | Rejection | undefined {
  if (received.length >= PREFIX_BYTES && received[0] === 1) return undefined
  const isOneMessage =
    received.length >= PREFIX_BYTES &&
    received[0] === 0 &&
    received.readUInt32BE(1) === received.length - PREFIX_BYTES
  if (!isOneMessage) return malformed('the call must have exactly one message')
  try {
    return decodeCheckRequest(received.subarray(PREFIX_BYTES))
  } catch (error) {
    if (error instanceof MalformedMessage) return malformed(error.message)
    throw error
  }
}

function malformed(detail: string): Rejection {
  return { rejected: 'request_malformed', detail: `The check request is not valid: ${detail}.` }
}

/** After RST_STREAM, Node.js emits the event `end`, and respond() throws ERR_HTTP2_INVALID_STREAM. */
function isEnded(stream: ServerHttp2Stream): boolean {
  return stream.destroyed || stream.closed
}

function sendMessage(stream: ServerHttp2Stream, message: Buffer): void {
  if (isEnded(stream)) return
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  stream.respond({ ':status': 200, 'content-type': GRPC_CONTENT }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  // Otherwise, a client that does not read the response holds the stream until a drain.
  stream.setTimeout(HEAD_TIMEOUT_MS, () => stream.close(constants.NGHTTP2_CANCEL))
  stream.end(Buffer.concat([prefix, message]))
}

function sendStatus(stream: ServerHttp2Stream, status: number): void {
  if (isEnded(stream)) return
  stream.respond(
    { ':status': 200, 'content-type': GRPC_CONTENT, 'grpc-status': String(status) },
    { endStream: true },
  )
}
