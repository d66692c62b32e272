import type { Static } from 'typebox'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { compileValidator } from '../../platform/diagnostics/schema/compile-validator.ts'
import type { Violation } from '../../platform/diagnostics/schema/describe-schema-error.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { Extends, Mount, Name, open } from './common-schemas.ts'
import { explainOrigin } from './cors-entry.ts'
import { DEFAULT_KEYS } from './default-keys.ts'
import { PolicyTestEntry } from './policy-test-file.ts'
import { RouteEntry } from './route-entry.ts'

/**
 * Schema of `policies/<team>.policy.yaml`. The loader, the types and the JSON Schema for editors all derive from this
 * schema.
 */
export const PolicyFileSchema = Type.Object(
  {
    apiVersion: Type.Enum(['scopegate/v1'], { description: 'The version of this format.' }),
    kind: Type.Enum(['Policy'], { description: 'The kind of the file.' }),
    name: Name('The name of the policy, unique in all files.'),
    owner: Type.Optional(
      Type.String({
        description: 'The owner of the policy, for example a team.',
        minLength: 1,
        maxLength: 128,
      }),
    ),
    upstream: Type.Optional(
      Type.String({
        description:
          'The entry of config/upstreams.yaml that serves the routes. Required, except for routes that only the decision endpoint serves.',
        minLength: 1,
      }),
    ),
    defaults: Type.Optional(
      Type.Object(
        { extends: Type.Optional(Extends), mount: Type.Optional(Mount), ...DEFAULT_KEYS },
        { ...open, description: 'Default values for all routes.' },
      ),
    ),
    routes: Type.Array(RouteEntry, { description: 'The routes, in any order.', minItems: 1 }),
    tests: Type.Optional(
      Type.Array(PolicyTestEntry, { description: 'The tests that `scopegate test` runs.' }),
    ),
  },
  {
    ...open,
    $id: 'https://scopegate.dev/schemas/policy.v1.json',
    description: 'A policy file of Scopegate.',
  },
)

export type PolicyFile = Static<typeof PolicyFileSchema>

/** Validates plain data against the schema. Codes: P101 to P109 and P112. */
export const checkPolicyFile = compileValidator(PolicyFileSchema, { letter: 'P', explain })

/** Explains common mistakes whose schema errors are hard to understand. */
function explain({
  error,
  path,
  value,
}: Violation): { number: string; message: string; hint?: string } | undefined {
  const key = path.at(-1)
  const isWord = typeof value === 'string' && /^(?:\*|all|any)$/i.test(value)
  if (error.keyword === 'enum' && path.at(-2) === 'methods' && isWord) {
    return {
      number: '102',
      message: `${JSON.stringify(value)} is not a method, and a policy must list each method`,
      hint: 'list each method',
    }
  }
  if (path.at(-2) === 'origins' && (typeof value === 'string' || value === null))
    return { number: '112', ...explainOrigin(String(value)) }
  if (error.keyword !== 'type') return undefined
  if (key === 'origins' && value === '*')
    return { number: '104', message: 'cors.origins must be a list', hint: 'write ["*"]' }
  if (key === 'scopes' && (typeof value === 'string' || isTexts(value))) {
    const list = `[${
      typeof value === 'string'
        ? value
            .split(/[\s,]+/)
            .filter(Boolean)
            .join(', ')
        : value.join(', ')
    }]`
    return {
      number: '107',
      message: 'a bare list of scopes is ambiguous: all of them, or any of them',
      hint: `write { all: ${list} } or { any: ${list} }`,
    }
  }
  if (key === 'path' && isRecord(value)) {
    return {
      number: '109',
      message: 'without quotes, { starts a map, not a path',
      hint: `write "/{${Object.keys(value).join(', ')}}"`,
    }
  }
  return undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
