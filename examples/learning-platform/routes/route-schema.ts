import type { Fields, JsonSchema } from '../families/json-schema.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** Operation ID in the OpenAPI document. The document omits routes without an operation ID. */
    operationId?: string
    summary?: string
    tags?: readonly string[]
  }
}

/** A documented response in the format that Fastify and OpenAPI share. */
export type ResponseSchema = {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

const problemSchema: JsonSchema = {
  title: 'Problem',
  type: 'object',
  additionalProperties: false,
  required: ['error', 'error_description', 'request_id'],
  properties: {
    error: { type: 'string' },
    error_description: { type: 'string' },
    request_id: { type: 'string' },
  },
}

const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The body, a field or a parameter is not valid. error_description states the problem.',
  403: 'Writes require an identified caller.',
  404: 'The resource does not exist, or the caller may not read it.',
  409: 'Another resource already has a unique value of the request, or still references this resource.',
  412: 'The resource changed after the caller read it.',
  413: 'The body is larger than 1 MiB.',
  415: 'The media type of the body is unsupported.',
}

const TAG = {
  etag: { description: 'Entity tag for If-Match and If-None-Match.', schema: { type: 'string' } },
}

/** Returns a response with a JSON body. `other` is the schema for anonymous callers, if the schema differs. */
export function json(
  description: string,
  schema: JsonSchema,
  other?: JsonSchema,
  headers?: ResponseSchema['headers'],
): ResponseSchema {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/json': { schema: other === undefined ? schema : { anyOf: [schema, other] } } },
  }
}

/** Returns a response with a JSON body and an entity tag. */
export function tagged(
  description: string,
  schema: JsonSchema,
  other?: JsonSchema,
  headers?: Fields,
): ResponseSchema {
  const more = Object.entries(headers ?? {}).map(([name, header]) => [
    name,
    { description: header.description ?? name, schema: { type: 'string' } },
  ])
  return json(description, schema, other, { ...TAG, ...Object.fromEntries(more) })
}

/** Returns the documented errors with these statuses. */
export function problems(...statuses: readonly number[]): Readonly<Record<number, ResponseSchema>> {
  return Object.fromEntries(statuses.map((status) => [status, json(PROBLEMS[status] ?? '', problemSchema)]))
}
