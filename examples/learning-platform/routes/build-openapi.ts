import type { FastifySchema } from 'fastify'
import type { JsonSchema } from '../families/json-schema.ts'
import type { ResponseSchema } from './route-schema.ts'

/** A registered route of Fastify. The same schema validates requests and documents the route. */
export type DocumentedRoute = {
  readonly method: string
  readonly url: string
  readonly schema: FastifySchema
}

type Schemas = Record<string, JsonSchema | { readonly $ref: string }>

/** Source: OpenAPI 3.1.1. */
export function buildOpenapi(
  routes: readonly DocumentedRoute[],
  tags: readonly { name: string; description: string }[],
): object {
  const schemas: Schemas = {}
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, url, schema } of routes) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(method, schema, schemas) }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Learning platform',
      version: '1.0.0',
      description:
        'An online school: courses, students and products. Anonymous callers can read a part of it.',
    },
    servers: [{ url: '/' }],
    tags,
    paths,
    components: { schemas },
  }
}

function operation(method: string, schema: FastifySchema, schemas: Schemas): object {
  const { operationId, summary, tags, body } = schema
  const parameters = [
    ...readParameters('path', schema.params as JsonSchema | undefined),
    ...readParameters('query', schema.querystring as JsonSchema | undefined),
    ...preconditions(method, schema.response as Readonly<Record<string, ResponseSchema>>),
  ]
  return {
    operationId,
    summary,
    tags,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(method, body as JsonSchema, schemas) }),
    responses: Object.fromEntries(
      Object.entries(schema.response as Readonly<Record<string, ResponseSchema>>).map(
        ([status, response]) => [
          status,
          {
            ...response,
            ...(response.content === undefined ? {} : { content: hoistContent(response.content, schemas) }),
          },
        ],
      ),
    ),
  }
}

function readParameters(place: 'path' | 'query', schema: JsonSchema | undefined): readonly object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

function preconditions(
  method: string,
  responses: Readonly<Record<string, ResponseSchema>>,
): readonly object[] {
  const header = (name: string) => ({ name, in: 'header', required: false, schema: { type: 'string' } })
  if (responses['304'] !== undefined && method === 'GET') return [header('if-none-match')]
  return responses['412'] === undefined ? [] : [header('if-match')]
}

function requestBody(method: string, body: JsonSchema, schemas: Schemas): object {
  const types =
    method === 'PATCH' ? ['application/merge-patch+json', 'application/json'] : ['application/json']
  const schema = hoist(body, schemas)
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

function hoistContent(content: NonNullable<ResponseSchema['content']>, schemas: Schemas): object {
  return Object.fromEntries(
    Object.entries(content).map(([type, { schema }]) => [type, { schema: hoist(schema, schemas) }]),
  )
}

/** Moves every schema with a title to the components, so that the document contains each schema only once. */
function hoist(schema: JsonSchema, schemas: Schemas): JsonSchema | { readonly $ref: string } {
  const { title, ...rest } = schema
  const inner = {
    ...rest,
    ...(schema.items === undefined ? {} : { items: hoist(schema.items, schemas) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: schema.anyOf.map((one) => hoist(one, schemas)) }),
    ...(schema.properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(schema.properties).map(([name, property]) => [name, hoist(property, schemas)]),
          ),
        }),
  } as JsonSchema
  if (title === undefined) return inner
  schemas[title] = inner
  return { $ref: `#/components/schemas/${title}` }
}
