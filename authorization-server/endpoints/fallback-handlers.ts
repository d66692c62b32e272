import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../platform/logging/logger.ts'
import { InteractionError } from '../engine/interactions.ts'
import { StoreError } from '../store/store.ts'
import { ENGINE_ENDPOINTS, type Endpoint, USERINFO_ENDPOINT } from './endpoint-table.ts'
import { invalidRequest, type OAuthErrorResponse, sendErrorResponse } from './oauth-error-response.ts'

const TABLE: readonly Endpoint[] = [...ENGINE_ENDPOINTS, USERINFO_ENDPOINT]
const ALLOWED: ReadonlyMap<string, string> = new Map(
  TABLE.map((endpoint) => [endpoint.path, allowed(endpoint).join(', ')]),
)

const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'WWW-Authenticate, X-Request-Id, Retry-After, ETag, DPoP-Nonce',
}
const PREFLIGHT_HEADERS = {
  'access-control-allow-headers': 'authorization, content-type, dpop, mcp-protocol-version, traceparent',
  'access-control-max-age': '3600',
}

/**
 * Sets the headers of all responses, and handles requests without an endpoint: preflights, unknown paths (404) and
 * other methods (405). Also handles errors of the endpoints.
 * Errors are JSON with `error` and `error_description`, without a stack. Source: docs/interface.md section 7.1.
 */
export function registerFallbackHandlers(app: FastifyInstance, options: { readonly logger: Logger }): void {
  const corsPaths = new Set(TABLE.flatMap((endpoint) => (endpoint.cors ? [endpoint.path] : [])))

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (corsPaths.has(pathOf(request))) reply.headers(CORS_HEADERS)
  })
  // With `connection: close`, Fastify closes the connection before it reads the rest of the body. The sender, for
  // example a gateway, may then miss the response. Without the header, Node drains the body within the request timeout.
  app.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode === 413) reply.removeHeader('connection')
  })
  for (const path of corsPaths)
    app.options(path, (_request, reply) =>
      reply
        .code(204)
        .headers({ 'access-control-allow-methods': ALLOWED.get(path) ?? '', ...PREFLIGHT_HEADERS })
        .send(),
    )

  app.setNotFoundHandler((request, reply) => {
    const allow = ALLOWED.get(pathOf(request))
    return sendErrorResponse(
      reply,
      allow === undefined
        ? {
            status: 404,
            error: 'not_found',
            description:
              'No endpoint matches this path. /.well-known/oauth-authorization-server lists the OAuth endpoints.',
          }
        : {
            status: 405,
            error: 'method_not_allowed',
            description: `Allowed: ${allow}.`,
            headers: { allow },
          },
    )
  })

  app.setErrorHandler<FastifyError | Error>((error, request, reply) => {
    const errorResponse = explain(error)
    if (errorResponse.status >= 500)
      options.logger.error(
        { event: 'failed', request_id: request.id, 'client.address': request.ip, err: error },
        'request failed',
      )
    return sendErrorResponse(reply, errorResponse)
  })
}

function allowed(endpoint: Endpoint): readonly string[] {
  if (!endpoint.cors) return [endpoint.method]
  if (endpoint.method === 'POST') return ['POST', 'OPTIONS']
  return ['GET', 'HEAD', ...(endpoint.alsoPost === true ? ['POST'] : []), 'OPTIONS']
}

function explain(error: FastifyError | Error): OAuthErrorResponse {
  if (error instanceof InteractionError)
    return invalidRequest('The sign-in expired or is already complete. Go back to the app and start again.')
  if (error instanceof StoreError)
    return {
      status: 503,
      error: 'temporarily_unavailable',
      description: 'The authorization server cannot use its store. Try again in a moment.',
      headers: { 'retry-after': '1' },
    }
  const status = 'statusCode' in error ? error.statusCode : undefined
  if (status === 413)
    return {
      status: 413,
      error: 'invalid_request',
      description: 'The body is larger than this endpoint accepts.',
    }
  if (status !== undefined && status >= 400 && status < 500)
    return invalidRequest(
      'The server cannot process this request. Check its path, Content-Type and Content-Length.',
    )
  return {
    status: 500,
    error: 'server_error',
    description: 'Internal error. Quote the request ID in reports.',
  }
}

/** Responds to input that is not HTTP, to headers that are too long, and to requests that arrive too slowly. */
export function replyToBrokenConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, description } = explainParserError(error.code)
  const body = JSON.stringify({ error: 'invalid_request', error_description: description })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function explainParserError(code?: string): { readonly status: string; readonly description: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: '431 Request Header Fields Too Large',
        description: 'The request line and headers are too large.',
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: '408 Request Timeout', description: 'The request did not arrive in time.' }
    default:
      return { status: '400 Bad Request', description: 'The request is not valid HTTP/1.1.' }
  }
}

/** Responds to a URL that the router cannot decode. */
export function replyToInvalidUrl(reply: FastifyReply): FastifyReply {
  return sendErrorResponse(reply, invalidRequest('The path of the request is not valid.'))
}

function pathOf(request: FastifyRequest): string {
  return (request.raw.url ?? '').split('?', 1)[0] ?? ''
}
