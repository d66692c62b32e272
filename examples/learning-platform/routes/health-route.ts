import type { FastifyInstance } from 'fastify'
import { closed } from '../families/family-schemas.ts'
import { json } from './route-schema.ts'
import type { Service } from './service.ts'

/** Mounts GET /healthz. The route responds with 200 while the database works. */
export function addHealthRoute(app: FastifyInstance, { database }: Service): void {
  const ping = database.prepare('SELECT 1')
  app.get('/healthz', {
    schema: {
      operationId: 'read-health',
      summary: 'Reports whether the service is ready.',
      tags: ['service'],
      response: {
        200: json('The service is ready.', closed('Health', { status: { type: 'string', enum: ['ok'] } })),
      },
    },
    handler: async () => {
      ping.get()
      return { status: 'ok' }
    },
  })
}
