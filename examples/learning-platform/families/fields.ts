import type { Fields, JsonSchema } from './json-schema.ts'

/** One line of text: no control characters, at least one that is not a space. */
export const text = (maxLength: number, description?: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength,
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$',
  ...(description === undefined ? {} : { description }),
})

/** Text of several lines; may be empty. */
export const prose = (maxLength: number, description?: string): JsonSchema => ({
  type: 'string',
  maxLength,
  pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$',
  default: '',
  ...(description === undefined ? {} : { description }),
})

/** A word of an address: lower-case letters, digits and single hyphens. */
export const slug = (): JsonSchema => ({
  type: 'string',
  maxLength: 80,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Names the resource in addresses; unique in its family.',
})

/** One of the named states; the first is what a new resource gets when it names none. */
export const state = (...states: readonly [string, ...string[]]): JsonSchema => ({
  type: 'string',
  enum: states,
  default: states[0],
})

/** One of the named values; it must be sent. */
export const choice = (...values: readonly string[]): JsonSchema => ({ type: 'string', enum: values })

/** A whole number between two bounds, both included. */
export const wholeNumber = (minimum: number, maximum: number): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
})

/** An amount of money in hundredths of its currency. */
export const cents = (): JsonSchema => ({
  ...wholeNumber(0, 100_000_000),
  description: 'In hundredths of the currency.',
})

/** An ISO 4217 currency that the school sells in. */
export const currency = (): JsonSchema => ({ type: 'string', enum: ['EUR', 'GBP', 'USD'], default: 'EUR' })

/** Yes or no, with what it is when nothing is said. */
export const flag = (standard: boolean): JsonSchema => ({ type: 'boolean', default: standard })

/** A calendar day, `2026-03-01`. */
export const day = (): JsonSchema => ({ type: 'string', format: 'date', maxLength: 10 })

/** A point in time, RFC 3339. */
export const instant = (): JsonSchema => ({ type: 'string', format: 'date-time', maxLength: 40 })

/** An e-mail address. Personal: never part of a public view. */
export const email = (): JsonSchema => ({ type: 'string', format: 'email', maxLength: 254 })

/** An https address. */
export const webAddress = (): JsonSchema => ({
  type: 'string',
  format: 'uri',
  pattern: '^https://',
  maxLength: 500,
})

/** A colour as `#rrggbb`. */
export const colour = (): JsonSchema => ({ type: 'string', pattern: '^#[0-9a-f]{6}$' })

/** The id of a member of another family; it must exist. */
export const reference = (family: string): JsonSchema => ({
  type: 'string',
  maxLength: 40,
  'x-references': family,
})

/** A list that may be left out, and is empty then. */
export const list = (items: JsonSchema, maxItems: number): JsonSchema => ({
  type: 'array',
  items,
  maxItems,
  default: [],
})

/** Ids of members of another family, none twice. */
export const references = (family: string, maxItems: number): JsonSchema => ({
  ...list(reference(family), maxItems),
  uniqueItems: true,
})

/** The same field, but it may be null and is null when left out. */
export function optional(schema: JsonSchema): JsonSchema {
  const { type } = schema
  const types = typeof type === 'string' ? [type] : (type ?? [])
  const choices = schema.enum === undefined ? {} : { enum: [...schema.enum, null] }
  return { ...schema, ...choices, type: [...types, 'null'], default: null }
}

/** An object that holds these fields and no others. */
export const group = (fields: Fields): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(fields).filter((name) => !('default' in (fields[name] ?? {}))),
  properties: fields,
})
