import type { FastifyInstance, FastifyRequest } from 'fastify'
import { normalizeIp } from '../net/normalize-ip.ts'

/** An endpoint on the management port. Endpoints for different methods can have the same path. */
export type ManagementEndpoint = {
  /** POST and PUT change state, so web pages cannot call these endpoints. */
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** True: the body must be JSON. Default: the endpoint ignores the body. */
  readonly readsJson?: boolean
  readonly respond: (request: ManagementRequest) => ManagementResponse | Promise<ManagementResponse>
}

export type ManagementRequest = {
  /** The parsed JSON of the body. Undefined if the endpoint does not read JSON. */
  readonly body: unknown
  readonly clientAddress: string
}

export type ManagementResponse = {
  readonly status: number
  /** An object, or JSON text. */
  readonly body: object | string
  /** Default: `application/json`. */
  readonly type?: string
}

/** Maximum size of a request body. Bytes. */
export const BODY_LIMIT_BYTES = 1_024

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
      async handler(request, reply) {
        const { status, body, type = 'application/json' } = await respondTo(request, endpoint)
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        return reply.code(status).header('cache-control', 'no-store').type(type).send(text)
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

async function respondTo(
  request: FastifyRequest,
  { method, readsJson = false, respond }: ManagementEndpoint,
): Promise<ManagementResponse> {
  if (method !== 'GET' && isFromPage(request)) return { status: 403, body: NOT_FOR_PAGES }
  const clientAddress = normalizeIp(request.ip)
  if (!readsJson) return respond({ body: undefined, clientAddress })
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) return { status: 415, body: NOT_JSON_TYPE }
  const body = parseJson(request.body)
  return body === undefined ? { status: 400, body: NOT_JSON } : respond({ body, clientAddress })
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
