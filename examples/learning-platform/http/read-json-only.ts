import type { FastifyInstance } from 'fastify'

/**
 * Makes JSON the only kind of body, read by Fastify's own parser, which refuses `__proto__`.
 * A merge patch (RFC 7396) is one too, but only for PATCH.
 */
export function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, parse)
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, (request, body, done) => {
    if (request.method === 'PATCH') return parse(request, body.toString(), done)
    return done(Object.assign(new Error('a merge patch is for PATCH'), { statusCode: 415 }))
  })
}
