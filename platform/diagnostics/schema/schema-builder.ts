import type TypeBox from 'typebox'

/**
 * The functions of TypeBox that schemas use, with the types of TypeBox.
 * This file implements the functions, because each start of a service would load all 370 modules of TypeBox (decision
 * 0019).
 */
type SchemaBuilder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unsafe'
>

type Schema = Readonly<Record<string, unknown>>

/** Schemas of optional properties. `Optional()` adds a copy, because a required property can use the same schema. */
const optional = new WeakSet<Schema>()

const builder = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Schema) => ({ type: 'boolean', ...options }),
  Enum: (values: readonly unknown[], options?: Schema) => ({ enum: values, ...options }),
  Integer: (options?: Schema) => ({ type: 'integer', ...options }),
  Literal: (value: string | number | boolean, options?: Schema) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Number: (options?: Schema) => ({ type: 'number', ...options }),
  Object(properties: Readonly<Record<string, Schema>>, options?: Schema) {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name] ?? {}))
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options }
  },
  Optional(schema: Schema) {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  /** `key` is a string schema with a pattern. */
  Record: (key: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { [String(key['pattern'])]: value },
    ...options,
  }),
  String: (options?: Schema) => ({ type: 'string', ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => schema,
}

/** Builds JSON Schemas. `Static` of TypeBox derives the type of a value from the type of its schema. */
export const Type = builder as unknown as SchemaBuilder
