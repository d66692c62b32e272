import type { FastifyRequest } from 'fastify'
import type { Document, JsonSchema } from '../families/json-schema.ts'
import { describeInvalid } from '../http/describe-invalid.ts'
import { type Problem, problem } from '../http/problem.ts'

/**
 * Validates a merged resource against the schema of a complete resource, with the validator of request bodies. Fields
 * that the merge removed get their default again.
 */
export function checkShape(
  request: FastifyRequest,
  schema: JsonSchema,
  document: Document,
): { readonly rejected: Problem } | undefined {
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
