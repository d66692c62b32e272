import type { FastifySchemaValidationError } from 'fastify/types/schema.js'

/** Describes in one sentence which field or parameter violates its schema, and how. */
export function describeInvalid(error: FastifySchemaValidationError, isQuery: boolean): string {
  const { keyword, params } = error
  const parent = error.instancePath.slice(1).replaceAll('/', '.')
  const thing = isQuery ? 'parameter' : 'field'
  const inside = (name: unknown) => shorten(parent === '' ? String(name) : `${parent}.${String(name)}`)
  if (keyword === 'additionalProperties')
    return `${inside(params['additionalProperty'])}: this ${thing} is unknown or read-only.`
  if (keyword === 'required') return `${inside(params['missingProperty'])}: the ${thing} is missing.`
  const where = parent === '' ? `The ${isQuery ? 'query' : 'body'}` : `${shorten(parent)}:`
  if (keyword === 'enum' && Array.isArray(params['allowedValues']))
    return `${where} must be one of ${params['allowedValues'].map((value) => value ?? 'null').join(', ')}.`
  if (keyword === 'minProperties') return `${where} must name at least one field.`
  return `${where} ${error.message ?? 'is not valid'}.`
}

/** Shortens a name, because a hostile one can be long. */
function shorten(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name
}
