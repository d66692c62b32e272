import type { FastifyInstance } from 'fastify'
import { familyPath, type ReportFamily } from '../families/family.ts'
import { closed, titleOf } from '../families/family-schemas.ts'
import { json, problems } from './route-schema.ts'
import type { Service } from './service.ts'

export function addReportRoute(app: FastifyInstance, { database }: Service, family: ReportFamily): void {
  app.get(familyPath(family), {
    schema: {
      operationId: `read-${family.name}`,
      summary: `Read it. ${family.about}`,
      tags: [family.name],
      response: {
        200: json(
          'The report.',
          closed(titleOf(family), family.fields),
          closed(`Public${titleOf(family)}`, family.publicFields),
        ),
        ...problems(400),
      },
    },
    handler: async (request) =>
      request.caller === undefined ? family.readPublic(database) : family.read(database),
  })
}
