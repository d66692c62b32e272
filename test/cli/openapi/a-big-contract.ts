/**
 * Returns a contract with several hundred operations, in the style of a generator. The schemas contain references and
 * cycles.
 */
export function aBigContract(resources: number, more: Readonly<Record<string, unknown>> = {}): string {
  const paths: Record<string, unknown> = {}
  const schemas: Record<string, unknown> = {}
  for (let index = 0; index < resources; index++) {
    const name = `Resource${index}`
    const answer = {
      responses: {
        200: {
          description: 'Done.',
          content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
        },
        default: { $ref: '#/components/responses/Problem' },
      },
    }
    const needs = (verb: string) => ({ security: [{ oauth: [`area${index % 7}:${verb}`] }] })
    paths[`/resource${index}s`] = {
      summary: name,
      get: { operationId: `${name}_list`, ...needs('read'), ...answer },
      post: { operationId: `${name}_create`, ...needs('write'), ...answer },
    }
    paths[`/resource${index}s/{id}`] = {
      parameters: [{ $ref: '#/components/parameters/Id' }],
      get: { operationId: `${name}_get`, ...needs('read'), ...answer },
      put: { operationId: `${name}_replace`, ...needs('write'), ...answer },
      delete: { operationId: `${name}_delete`, ...needs('write'), ...answer },
    }
    paths[`/resource${index}s/{id}/children/{childId}`] = {
      get: { operationId: `${name}_child`, security: [...needs('read').security, {}], ...answer },
    }
    schemas[name] = {
      type: 'object',
      properties: {
        next: { $ref: `#/components/schemas/Resource${(index + 1) % resources}` },
        self: { $ref: `#/components/schemas/${name}` },
      },
    }
  }
  return JSON.stringify({
    openapi: '3.0.1',
    info: { title: 'A big one', version: '1' },
    servers: [{ url: 'https://big.example/api' }],
    paths,
    components: {
      schemas,
      parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } },
      responses: { Problem: { description: 'A problem.' } },
      securitySchemes: { oauth: { type: 'oauth2', flows: {} } },
    },
    ...more,
  })
}
