import type { FastifyInstance } from 'fastify'
import { type Caller, familyPath, type SingletonFamily } from '../families/family.ts'
import {
  draftSchema,
  patchSchema,
  publicSingletonSchema,
  singletonSchema,
} from '../families/family-schemas.ts'
import type { Document } from '../families/json-schema.ts'
import { entityTag } from '../http/entity-tag.ts'
import { mergePatch } from '../http/merge-patch.ts'
import type { Problem } from '../http/problem.ts'
import { sendProblem } from '../http/send-problem.ts'
import { inTransaction } from '../store/in-transaction.ts'
import { readLinks } from '../store/read-links.ts'
import { openSingleton, type SingletonRow } from '../store/singleton.ts'
import { checkShape } from './check-shape.ts'
import { checkLinks, checkUnchanged } from './check-write.ts'
import { representSingleton } from './represent.ts'
import { callerOf, requireCaller } from './require-caller.ts'
import { problems, tagged } from './route-schema.ts'
import { sendRepresentation } from './send-representation.ts'
import type { Service } from './service.ts'

type Outcome = { readonly done: SingletonRow } | { readonly rejected: Problem }

export function addSingletonRoutes(app: FastifyInstance, service: Service, family: SingletonFamily): void {
  const { database, links } = service
  const singleton = openSingleton(database, family)
  const path = familyPath(family)
  const [full, draft, patch] = [singletonSchema(family), draftSchema(family), patchSchema(family)]
  const tags = [family.name]

  function ownerOf(caller: Caller | undefined): string {
    return family.owner === 'subject' ? (caller?.subject ?? '') : ''
  }

  /** The first access of a subject creates the singleton. */
  function findOrMake(caller: Caller | undefined): SingletonRow {
    const owner = ownerOf(caller)
    const found = singleton.find(owner)
    if (found !== undefined) return found
    const stamp = { by: owner, at: service.nowIso() }
    if (caller === undefined) return { body: {}, updated_by: stamp.by, updated_at: stamp.at }
    return inTransaction(
      database,
      () => singleton.find(owner) ?? singleton.write(owner, family.initial(owner), stamp),
    )
  }

  app.get(path, {
    schema: {
      operationId: `read-${family.name}`,
      summary: `Read it. ${family.about}`,
      tags,
      response: {
        200: tagged('The resource.', full, publicSingletonSchema(family)),
        304: { description: 'Unchanged.' },
        ...problems(400),
      },
    },
    handler: async (request, reply) => {
      const { caller } = request
      return sendRepresentation(reply, representSingleton(family, findOrMake(caller), caller))
    },
  })

  for (const method of ['PUT', 'PATCH'] as const)
    app.route<{ Body: Document }>({
      method,
      url: path,
      onRequest: requireCaller,
      schema: {
        operationId: `${method === 'PUT' ? 'replace' : 'change'}-${family.name}`,
        summary:
          method === 'PUT' ? 'Replace the resource as a whole.' : 'Change some fields of the resource.',
        tags,
        body: method === 'PUT' ? draft : patch,
        response: {
          200: tagged('The new state of the resource.', full),
          ...problems(400, 403, 412, 413, 415),
        },
      },
      handler: async (request, reply) => {
        const caller = callerOf(request)
        findOrMake(caller)
        const outcome = inTransaction(database, (): Outcome => {
          const row = findRow(caller)
          const stale = checkUnchanged(request.headers['if-match'], representSingleton(family, row, caller))
          if (stale !== undefined) return stale
          const body = method === 'PUT' ? request.body : (mergePatch(row.body, request.body) as Document)
          const wrong = method === 'PUT' ? undefined : checkShape(request, draft, body)
          const named = readLinks(draft, body)
          const rejection = wrong ?? checkLinks(links, named)
          if (rejection !== undefined) return rejection
          const done = singleton.write(ownerOf(caller), body, { by: caller.subject, at: service.nowIso() })
          links.write(family.name, ownerOf(caller), named)
          return { done }
        })
        if ('rejected' in outcome) return sendProblem(reply, outcome.rejected)
        const changed = representSingleton(family, outcome.done, caller)
        return reply.header('etag', entityTag(changed)).send(changed)
      },
    })

  function findRow(caller: Caller): SingletonRow {
    const row = singleton.find(ownerOf(caller))
    if (row === undefined) throw new Error(`${family.name} was not created`)
    return row
  }
}
