import type { FastifyInstance, FastifyRequest } from 'fastify'

/** An endpoint on the management port for one service only. */
export type ManagementEndpoint = {
  /** A POST endpoint changes state, so web pages cannot call it. */
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly respond: () => ManagementResponse | Promise<ManagementResponse>
}

export type ManagementResponse = {
  readonly status: number
  /** An object, or JSON text. */
  readonly body: object | string
  /** Default: `application/json`. */
  readonly type?: string
}

/** Maximum size of a request body. The limit is small, because the endpoints ignore the body. Bytes. */
export const BODY_LIMIT_BYTES = 1_024

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/**
 * Mounts the endpoints. A request with a wrong method gets 405. A POST from a web page gets 403. The endpoints ignore
 * the content of a small request body.
 */
export function mountEndpoints(app: FastifyInstance, endpoints: readonly ManagementEndpoint[]): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined))
  for (const { method, path, respond } of endpoints) {
    app.route({
      method,
      url: path,
      async handler(request, reply) {
        if (method === 'POST' && isFromPage(request)) return reply.code(403).send(NOT_FOR_PAGES)
        const { status, body, type = 'application/json' } = await respond()
        const text = typeof body === 'string' ? body : JSON.stringify(body)
        return reply.code(status).header('cache-control', 'no-store').type(type).send(text)
      },
    })
    const allowed = method === 'GET' ? ['GET', 'HEAD'] : [method]
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
