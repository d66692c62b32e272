import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type CollectionFamily, familyPath } from '../families/family.ts'
import { draftSchema, patchSchema, resourceSchema } from '../families/family-schemas.ts'
import type { Document } from '../families/json-schema.ts'
import { entityTag } from '../http/entity-tag.ts'
import { mergePatch } from '../http/merge-patch.ts'
import { type Problem, problem } from '../http/problem.ts'
import { sendProblem } from '../http/send-problem.ts'
import type { Collection, Row } from '../store/collection.ts'
import { inTransaction } from '../store/in-transaction.ts'
import { readLinks } from '../store/read-links.ts'
import { checkShape } from './check-shape.ts'
import { checkDocument, checkLinks, checkUnchanged } from './check-write.ts'
import { ID_PARAMETER, notFound } from './collection-reads.ts'
import { represent } from './represent.ts'
import { callerOf, requireCaller } from './require-caller.ts'
import { problems, tagged } from './route-schema.ts'
import type { Service } from './service.ts'

type Outcome = { readonly done: Row } | { readonly rejected: Problem }
type Member = { Params: { id: string }; Body: Document }

/**
 * Mounts POST, PUT, PATCH and DELETE of a collection. Each method performs its checks and its write in one transaction.
 */
export function addCollectionWrites(
  app: FastifyInstance,
  service: Service,
  family: CollectionFamily,
  collection: Collection,
): void {
  const { database, links } = service
  const path = familyPath(family)
  const noun = family.singular.replaceAll('-', ' ')
  const [full, draft, patch] = [resourceSchema(family), draftSchema(family), patchSchema(family)]
  const common = { tags: [family.name], params: ID_PARAMETER }

  /** Stores a body that matches the schema. Replaces `row`, or inserts a new row. */
  function store(request: FastifyRequest, body: Document, row: Row | undefined): Outcome {
    const named = readLinks(draft, body)
    const rejection = checkDocument(family, collection, body, row?.id ?? '') ?? checkLinks(links, named)
    if (rejection !== undefined) return rejection
    const stamp = { by: callerOf(request).subject, at: service.nowIso() }
    const done = row === undefined ? collection.insert(body, stamp) : collection.replace(row, body, stamp)
    links.write(family.name, done.id, named)
    return { done }
  }

  /** Finds the row of a request. Rejects the request if the row has changed since the caller read the resource. */
  function findUnchanged(request: FastifyRequest, id: string): Outcome {
    const row = collection.find(id, 'full')
    if (row === undefined) return { rejected: notFound(family) }
    return checkUnchanged(request.headers['if-match'], represent(family, row, 'full')) ?? { done: row }
  }

  app.post<{ Body: Document }>(path, {
    onRequest: requireCaller,
    schema: {
      operationId: `create-${family.singular}`,
      summary: `Create a ${noun}.`,
      tags: common.tags,
      body: draft,
      response: {
        201: tagged('Created.', full, undefined, { location: { description: 'URL of the resource.' } }),
        ...problems(400, 403, 409, 413, 415),
      },
    },
    handler: async (request, reply) => {
      const outcome = inTransaction(database, () => store(request, request.body, undefined))
      if ('rejected' in outcome) return sendProblem(reply, outcome.rejected)
      const created = represent(family, outcome.done, 'full')
      reply.code(201).header('location', `${path}/${outcome.done.id}`).header('etag', entityTag(created))
      return reply.send(created)
    },
  })

  for (const method of ['PUT', 'PATCH'] as const)
    app.route<Member>({
      method,
      url: `${path}/:id`,
      onRequest: requireCaller,
      schema: {
        ...common,
        operationId: `${method === 'PUT' ? 'replace' : 'change'}-${family.singular}`,
        summary: method === 'PUT' ? `Replace a ${noun} as a whole.` : `Change some fields of a ${noun}.`,
        body: method === 'PUT' ? draft : patch,
        response: {
          200: tagged('The new state of the resource.', full),
          ...problems(400, 403, 404, 409, 412, 413, 415),
        },
      },
      handler: async (request, reply) => {
        const outcome = inTransaction(database, (): Outcome => {
          const found = findUnchanged(request, request.params.id)
          if ('rejected' in found) return found
          if (method === 'PUT') return store(request, request.body, found.done)
          const merged = mergePatch(found.done.body, request.body) as Document
          return checkShape(request, draft, merged) ?? store(request, merged, found.done)
        })
        if ('rejected' in outcome) return sendProblem(reply, outcome.rejected)
        const changed = represent(family, outcome.done, 'full')
        return reply.header('etag', entityTag(changed)).send(changed)
      },
    })

  app.delete<Member>(`${path}/:id`, {
    onRequest: requireCaller,
    schema: {
      ...common,
      operationId: `delete-${family.singular}`,
      summary: `Delete a ${noun}.`,
      response: { 204: { description: 'Deleted.' }, ...problems(400, 403, 404, 409, 412, 413, 415) },
    },
    handler: async (request, reply) => {
      const outcome = inTransaction(database, (): Outcome => {
        const found = findUnchanged(request, request.params.id)
        if ('rejected' in found) return found
        const user = links.userOf(family.name, found.done.id)
        if (user !== undefined) {
          const name = user.id === '' ? user.source : user.id
          return problem('conflict', `${name} still references this ${noun}. Change or delete ${name} first.`)
        }
        links.write(family.name, found.done.id, [])
        collection.remove(found.done.id)
        return found
      })
      return 'rejected' in outcome ? sendProblem(reply, outcome.rejected) : reply.code(204).send()
    },
  })
}
