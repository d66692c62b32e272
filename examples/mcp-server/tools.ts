import { fromJsonSchema, type McpServer } from '@modelcontextprotocol/server'
import Type, { type Static, type TObject } from 'typebox'
import type { CallPlatform, PlatformCall } from './call-platform.ts'

const Limit = Type.Optional(
  Type.Integer({
    description: 'Maximum number of items. Default: 20.',
    minimum: 1,
    maximum: 100,
    default: 20,
  }),
)

/**
 * Adds the tools: the input of each tool, and its request to the platform. policies/mcp-server.policy.yaml lists the
 * required scopes. The gateway checks the scopes before it forwards a call.
 */
export function addTools(server: McpServer, call: CallPlatform): void {
  const add = <Input extends TObject>(tool: {
    readonly name: string
    readonly title: string
    readonly description: string
    readonly changes?: boolean
    readonly input: Input
    request(input: Static<Input>): PlatformCall
  }): void => {
    server.registerTool(
      tool.name,
      {
        title: tool.title,
        description: tool.description,
        inputSchema: fromJsonSchema<Static<Input>>(JSON.parse(JSON.stringify(tool.input))),
        annotations: { readOnlyHint: tool.changes !== true },
      },
      async (input: Static<Input>) => {
        const result = await call(tool.request(input))
        const text = result.ok ? JSON.stringify(result.body) : result.why
        return { content: [{ type: 'text' as const, text }], isError: !result.ok }
      },
    )
  }

  add({
    name: 'list_courses',
    title: 'List courses',
    description: 'Returns the courses of the school, newest first.',
    input: Type.Object({ limit: Limit }, { additionalProperties: false }),
    request: ({ limit = 20 }) => ({ method: 'GET', path: `/api/courses?limit=${limit}` }),
  })
  add({
    name: 'read_course',
    title: 'Read a course',
    description: 'Returns one course with all fields that the caller may read.',
    input: Type.Object(
      { id: Type.String({ description: 'Course id, for example crs_1.', minLength: 1, maxLength: 64 }) },
      { additionalProperties: false },
    ),
    request: ({ id }) => ({ method: 'GET', path: `/api/courses/${encodeURIComponent(id)}` }),
  })
  add({
    name: 'create_course',
    title: 'Create a course',
    description: 'Adds a course, as a draft or published.',
    changes: true,
    input: Type.Object(
      {
        title: Type.String({ description: 'Title.', minLength: 1, maxLength: 120 }),
        slug: Type.String({
          description: 'Name in the URL: lower-case letters, digits and -.',
          pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
          maxLength: 80,
        }),
        summary: Type.String({ description: 'One sentence.', minLength: 1, maxLength: 300 }),
        level: Type.Enum(['beginner', 'intermediate', 'advanced'], { description: 'Audience.' }),
        price_cents: Type.Integer({ description: 'Price in cents (EUR).', minimum: 0, maximum: 100_000_000 }),
        // Clients repeat this argument in the header Mcp-Param-State, so that the policy can require a scope for each value.
        state: Type.String({
          description: 'Visibility.',
          enum: ['draft', 'published'],
          'x-mcp-header': 'State',
        }),
      },
      { additionalProperties: false },
    ),
    request: (course) => ({ method: 'POST', path: '/api/courses', body: course }),
  })
  add({
    name: 'list_orders',
    title: 'List orders',
    description: 'Order lines.',
    input: Type.Object({ limit: Limit }, { additionalProperties: false }),
    request: ({ limit = 20 }) => ({ method: 'GET', path: `/api/orders?limit=${limit}` }),
  })
}
