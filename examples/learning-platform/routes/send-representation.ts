import type { FastifyReply } from 'fastify'
import type { Document } from '../families/json-schema.ts'
import { entityTag, matchesTag } from '../http/entity-tag.ts'

/** Responds to a GET with a representation. Responds with 304 if the entity tag of the caller matches. */
export function sendRepresentation(reply: FastifyReply, representation: Document): FastifyReply {
  const tag = entityTag(representation)
  reply.header('etag', tag)
  const known = reply.request.headers['if-none-match']
  if (known !== undefined && matchesTag(known, tag, 'weak')) return reply.code(304).send()
  return reply.send(representation)
}
