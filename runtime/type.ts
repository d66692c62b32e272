import type TypeBox from 'typebox'

/** On a schema that may be missing from the object that lists it. */
const OPTIONAL = Symbol('optional')

type Schema = { readonly [OPTIONAL]?: true; readonly [keyword: string]: unknown }

/**
 * The words of TypeBox that our formats are written in: its types, and schemas that read the same as JSON. The library itself
 * brings 370 modules for all the others, a fifth of what the start of a process loads.
 */
export const Type = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Schema) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: (options?: Schema) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Schema) => ({ type: typeof value, const: value, ...options }),
  Object: (properties: Readonly<Record<string, Schema>>, options?: Schema) => {
    const required = Object.keys(properties).filter((name) => properties[name]?.[OPTIONAL] !== true)
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
  },
  Optional: (schema: Schema) => ({ ...schema, [OPTIONAL]: true }),
  Record: ({ pattern }: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { [String(pattern)]: value },
    ...options,
  }),
  String: (options?: Schema) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => schema,
} as unknown as Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unsafe'
>
