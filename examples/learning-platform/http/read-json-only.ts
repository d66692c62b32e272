import type { FastifyInstance } from 'fastify'

/**
 * Accepts only JSON bodies. Uses Fastify's parser, because this parser rejects `__proto__`. Accepts a merge patch (RFC
 * 7396) only for PATCH.
 */
export function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, parse)
  app.addContentTypeParser('application/merge-patch+json', { parseAs: 'string' }, (request, body, done) => {
    if (request.method === 'PATCH') return parse(request, body.toString(), done)
    return done(Object.assign(new Error('application/merge-patch+json requires PATCH'), { statusCode: 415 }))
  })
}
