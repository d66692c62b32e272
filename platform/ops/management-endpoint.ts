import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { normalizeIp } from '../net/normalize-ip.ts'
import { isFromOwnPage } from '../pages/own-origin.ts'
import { readForm } from '../pages/read-form.ts'

/** An endpoint on the management port. Endpoints for different methods can have the same path. */
export type ManagementEndpoint = {
  /** POST and PUT change state, so web pages cannot call these endpoints. `reads: 'form'` has another rule. */
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /**
   * `json`: the body must be JSON. `form`: the body must be a form, and only pages of the same origin can send it.
   * Default: the endpoint ignores the body.
   */
  readonly reads?: 'json' | 'form'
  readonly respond: (request: ManagementRequest) => ManagementResponse | Promise<ManagementResponse>
}

export type ManagementRequest = {
  /** The parsed JSON, or a {@link Form}. Undefined if the endpoint does not read the body. */
  readonly body: unknown
  readonly clientAddress: string
  /** HEAD for a HEAD request to an endpoint with the method GET. */
  readonly method: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
}

export type ManagementResponse = {
  readonly status: number
  /** An object, text or a stream. An object is sent as JSON. */
  readonly body: object | string | Readable
  /** Default: `application/json`. */
  readonly type?: string
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Maximum size of a request body. Bytes. */
export const BODY_LIMIT_BYTES = 1_024
/** Maximum size of a form. Bytes. */
const FORM_LIMIT_BYTES = 8_192

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/**
 * Mounts the endpoints. A request with a method that the path does not have gets 405. A POST or PUT request from a web
 * page gets 403.
 */
export function mountEndpoints(app: FastifyInstance, endpoints: readonly ManagementEndpoint[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  for (const endpoint of endpoints)
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      bodyLimit: endpoint.reads === 'form' ? FORM_LIMIT_BYTES : BODY_LIMIT_BYTES,
      async handler(request, reply) {
        const { socket } = request.raw
        const limitMs = socket.timeout ?? 0
        // The limit of idle connections is not a limit of the work. A reload can take minutes.
        socket.setTimeout(0)
        const response = await respondTo(request, endpoint)
        socket.setTimeout(limitMs)
        return sendResponse(reply, response)
      },
    })
  for (const [path, sharing] of Map.groupBy(endpoints, (endpoint) => endpoint.path)) {
    const allowed = sharing.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    app.route({
      method: METHODS.filter((other) => !allowed.includes(other)),
      url: path,
      handler: (_request, reply) =>
        reply
          .code(405)
          .header('allow', allowed.join(', '))
          .send({
            error: 'method_not_allowed',
            error_description: `Allowed: ${allowed.join(', ')}.`,
          }),
    })
  }
}

export function sendResponse(reply: FastifyReply, response: ManagementResponse): FastifyReply {
  const { status, body, type = 'application/json', headers = {} } = response
  const content = typeof body === 'string' || body instanceof Readable ? body : JSON.stringify(body)
  return reply.code(status).header('cache-control', 'no-store').headers(headers).type(type).send(content)
}

export function toManagementRequest(request: FastifyRequest, body: unknown): ManagementRequest {
  const { method, headers, url } = request
  const queryAt = url.indexOf('?')
  return {
    body,
    clientAddress: normalizeIp(request.ip),
    method,
    query: new URLSearchParams(queryAt === -1 ? '' : url.slice(queryAt)),
    headers,
  }
}

async function respondTo(
  request: FastifyRequest,
  { method, reads, respond }: ManagementEndpoint,
): Promise<ManagementResponse> {
  if (reads === 'form') return respondToForm(request, respond)
  if (method !== 'GET' && isFromPage(request)) return { status: 403, body: NOT_FOR_PAGES }
  if (reads === undefined) return respond(toManagementRequest(request, undefined))
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) return { status: 415, body: NOT_JSON_TYPE }
  const body = parseJson(request.body)
  return body === undefined ? { status: 400, body: NOT_JSON } : respond(toManagementRequest(request, body))
}

async function respondToForm(
  request: FastifyRequest,
  respond: ManagementEndpoint['respond'],
): Promise<ManagementResponse> {
  if (!isFromOwnPage(request.headers)) return { status: 403, body: FOREIGN_FORM }
  if (!FORM_TYPE.test(request.headers['content-type'] ?? '')) return { status: 415, body: NOT_FORM }
  const form = readForm(String(request.body))
  return form === undefined ? { status: 400, body: NOT_FORM } : respond(toManagementRequest(request, form))
}

/** Returns undefined if the text is not valid JSON. JSON has no undefined. */
function parseJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i

const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i

const FOREIGN_FORM = {
  error: 'access_denied',
  error_description: 'This endpoint accepts only forms of its own pages.',
}

const NOT_FORM = {
  error: 'invalid_request',
  error_description: 'Send a form as application/x-www-form-urlencoded, with each field once.',
}

const NOT_JSON_TYPE = {
  error: 'invalid_request',
  error_description: 'Send the body as JSON, with the header Content-Type: application/json.',
}

const NOT_JSON = { error: 'invalid_request', error_description: 'The body is not valid JSON.' }

const NOT_FOR_PAGES = {
  error: 'access_denied',
  error_description:
    'This endpoint rejects requests from web pages. Send the request from a program, without an Origin header.',
}

/** Browsers send the origin of a request that changes state, but programs do not. Fetch standard, section 3.2. */
function isFromPage({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return headers.origin !== undefined || (site !== undefined && site !== 'none')
}
