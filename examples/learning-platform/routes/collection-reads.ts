import type { FastifyInstance } from 'fastify'
import { type CollectionFamily, familyPath } from '../families/family.ts'
import { closed, publicSchema, resourceSchema, titleOf } from '../families/family-schemas.ts'
import { optional, wholeNumber } from '../families/fields.ts'
import type { Fields, JsonSchema } from '../families/json-schema.ts'
import { formatCursor, parseCursor } from '../http/page-cursor.ts'
import { sendProblem } from '../http/send-problem.ts'
import type { Collection } from '../store/collection.ts'
import { represent } from './represent.ts'
import { json, problems, tagged } from './route-schema.ts'
import { sendRepresentation } from './send-representation.ts'

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

type ListQuery = Readonly<Record<string, string>> & { readonly limit?: number; readonly cursor?: string }

export function addCollectionReads(
  app: FastifyInstance,
  family: CollectionFamily,
  collection: Collection,
): void {
  const path = familyPath(family)
  const full = resourceSchema(family)
  const open = publicSchema(family)

  app.get<{ Querystring: ListQuery }>(path, {
    schema: {
      operationId: `list-${family.plural}`,
      summary: `List ${family.plural.replaceAll('-', ' ')}. ${family.about}`,
      tags: [family.name],
      querystring: listQuery(family),
      response: {
        200: json(
          'A page of results, oldest first.',
          pageSchema(`${titleOf(family)}Page`, full),
          open && pageSchema(`Public${titleOf(family)}Page`, open),
          {
            link: { description: 'rel=next: the next page.', schema: { type: 'string' } },
          },
        ),
        ...problems(400),
      },
    },
    // A query string contains only text, so this hook converts `limit` to a number for the schema.
    preValidation: async (request) => {
      const { limit } = request.query as Record<string, unknown>
      if (typeof limit === 'string' && /^\d{1,9}$/.test(limit))
        Object.assign(request.query, { limit: Number(limit) })
    },
    handler: async (request, reply) => {
      const { limit = DEFAULT_LIMIT, cursor, ...filters } = request.query
      const after = cursor === undefined ? 0 : parseCursor(family.name, cursor)
      if (after === undefined)
        return sendProblem(reply, {
          code: 'invalid_request',
          description: `cursor: must be the "next" value of a page of ${family.plural}.`,
        })
      const view = request.caller === undefined ? 'public' : 'full'
      const rows = collection.list({ view, after, limit: limit + 1, filters })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      const next = rows.length > limit && last !== undefined ? formatCursor(family.name, last.number) : null
      if (next !== null) {
        const query = new URLSearchParams({ ...filters, limit: String(limit), cursor: next })
        reply.header('link', `<${path}?${query}>; rel="next"`)
      }
      return reply.send({ items: page.map((row) => represent(family, row, view)), next })
    },
  })

  app.get<{ Params: { id: string } }>(`${path}/:id`, {
    schema: {
      operationId: `read-${family.singular}`,
      summary: `Read a ${family.singular.replaceAll('-', ' ')}.`,
      tags: [family.name],
      params: ID_PARAMETER,
      response: {
        200: tagged('The resource.', full, open),
        304: { description: 'Unchanged.' },
        ...problems(400, 404),
      },
    },
    handler: async (request, reply) => {
      const view = request.caller === undefined ? 'public' : 'full'
      const row = collection.find(request.params.id, view)
      if (row === undefined) return sendProblem(reply, notFound(family))
      return sendRepresentation(reply, represent(family, row, view))
    },
  })
}

/** The path parameter of a single resource. An ID in another format gets 404, not 400. */
export const ID_PARAMETER: JsonSchema = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string', description: 'The `id` of the resource.' } },
}

/** Hidden and missing resources get the same problem. */
export function notFound(family: CollectionFamily): {
  readonly code: 'not_found'
  readonly description: string
} {
  return {
    code: 'not_found',
    description: `There is no ${family.singular.replaceAll('-', ' ')} with this id.`,
  }
}

function listQuery(family: CollectionFamily): JsonSchema {
  const filters = (family.filters ?? []).map((name): [string, JsonSchema] => {
    const {
      default: _default,
      'x-references': _references,
      description: _,
      ...field
    } = family.fields[name] ?? {}
    return [name, { ...field, type: 'string', description: `Filter: only resources with this ${name}.` }]
  })
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      limit: {
        ...wholeNumber(1, MAX_LIMIT),
        description: `Items per page. Default: ${DEFAULT_LIMIT}.`,
      },
      cursor: { type: 'string', maxLength: 80, description: '`next` of the previous page.' },
      ...Object.fromEntries(filters),
    },
  }
}

function pageSchema(title: string, item: JsonSchema): JsonSchema {
  const fields: Fields = {
    items: { type: 'array', items: item },
    next: {
      ...optional({ type: 'string' }),
      description: '`cursor` of the next page; null on the last page.',
    },
  }
  return closed(title, fields)
}
