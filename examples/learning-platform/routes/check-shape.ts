import type { FastifyRequest } from 'fastify'
import type { Document, JsonSchema } from '../families/json-schema.ts'
import { describeInvalid } from '../http/describe-invalid.ts'
import { type Problem, problem } from '../http/problem.ts'

/**
 * Checks a merged resource against the schema of a whole one, with the validator that checks request bodies.
 * Fields that the merge took away get their default back.
 */
export function checkShape(
  request: FastifyRequest,
  schema: JsonSchema,
  document: Document,
): { readonly refused: Problem } | undefined {
  const validate = request.compileValidationSchema(schema, 'body')
  if (validate(document)) return undefined
  const first = validate.errors?.[0]
  return problem(
    'invalid_request',
    first === undefined
      ? 'The result is not valid.'
      : describeInvalid(first as Parameters<typeof describeInvalid>[0], false),
  )
}
