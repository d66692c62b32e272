import type { FastifyInstance } from 'fastify'
import { json } from './route-schema.ts'

/** Mounts GET /openapi.json. The first request builds the document, because all routes are registered only then. */
export function addOpenapiRoute(app: FastifyInstance, build: () => object): void {
  let text: string | undefined
  app.get('/openapi.json', {
    schema: {
      operationId: 'read-openapi',
      summary: 'This document.',
      tags: ['service'],
      response: { 200: json('An OpenAPI 3.1 document.', { type: 'object' }) },
    },
    handler: async (_request, reply) => {
      text ??= JSON.stringify(build())
      return reply
        .type('application/json; charset=utf-8')
        .serializer((payload: string) => payload)
        .send(text)
    },
  })
}
