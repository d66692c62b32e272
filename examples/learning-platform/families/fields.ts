import type { Fields, JsonSchema } from './json-schema.ts'

/** One line of text without control characters. At least one character is not a space. */
export const text = (maxLength: number, description?: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength,
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]+$',
  ...(description === undefined ? {} : { description }),
})

/** Text of several lines. The text can be empty. */
export const prose = (maxLength: number, description?: string): JsonSchema => ({
  type: 'string',
  maxLength,
  pattern: '^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$',
  default: '',
  ...(description === undefined ? {} : { description }),
})

/** A word in a URL: lower-case letters, digits and single hyphens. */
export const slug = (): JsonSchema => ({
  type: 'string',
  maxLength: 80,
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  description: 'Name of the resource in URLs; unique in its family.',
})

/** One of the given states. The default is the first state. */
export const state = (...states: readonly [string, ...string[]]): JsonSchema => ({
  type: 'string',
  enum: states,
  default: states[0],
})

/** One of the given values. The field is required. */
export const choice = (...values: readonly string[]): JsonSchema => ({ type: 'string', enum: values })

/** A whole number within inclusive bounds. */
export const wholeNumber = (minimum: number, maximum: number): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
})

/** An amount of money in hundredths of its currency. */
export const cents = (): JsonSchema => ({
  ...wholeNumber(0, 100_000_000),
  description: 'In hundredths of the currency unit.',
})

/** An ISO 4217 currency in which the school sells products. */
export const currency = (): JsonSchema => ({ type: 'string', enum: ['EUR', 'GBP', 'USD'], default: 'EUR' })

export const flag = (standard: boolean): JsonSchema => ({ type: 'boolean', default: standard })

/** For example `2026-03-01`. */
export const day = (): JsonSchema => ({ type: 'string', format: 'date', maxLength: 10 })

/** A point in time. RFC 3339. */
export const instant = (): JsonSchema => ({ type: 'string', format: 'date-time', maxLength: 40 })

/** Personal data that must never be part of a public view. */
export const email = (): JsonSchema => ({ type: 'string', format: 'email', maxLength: 254 })

export const webAddress = (): JsonSchema => ({
  type: 'string',
  format: 'uri',
  pattern: '^https://',
  maxLength: 500,
})

/** In the format `#rrggbb`. */
export const colour = (): JsonSchema => ({ type: 'string', pattern: '^#[0-9a-f]{6}$' })

/** The ID of an existing resource of another family. */
export const reference = (family: string): JsonSchema => ({
  type: 'string',
  maxLength: 40,
  'x-references': family,
})

/** An optional list. Default: empty. */
export const list = (items: JsonSchema, maxItems: number): JsonSchema => ({
  type: 'array',
  items,
  maxItems,
  default: [],
})

/** IDs of resources of another family, without duplicates. */
export const references = (family: string, maxItems: number): JsonSchema => ({
  ...list(reference(family), maxItems),
  uniqueItems: true,
})

/** Returns the same schema with null as an additional value and as the default. */
export function optional(schema: JsonSchema): JsonSchema {
  const { type } = schema
  const types = typeof type === 'string' ? [type] : (type ?? [])
  const choices = schema.enum === undefined ? {} : { enum: [...schema.enum, null] }
  return { ...schema, ...choices, type: [...types, 'null'], default: null }
}

/** An object with exactly these fields. */
export const group = (fields: Fields): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(fields).filter((name) => !('default' in (fields[name] ?? {}))),
  properties: fields,
})
