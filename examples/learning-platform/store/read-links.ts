import type { Document, JsonSchema } from '../families/json-schema.ts'

/** A reference in a field to a resource of another family. */
export type Link = { readonly field: string; readonly target: string; readonly id: string }

/** Finds the references by `x-references` of the schema. */
export function readLinks(schema: JsonSchema, value: unknown, field = ''): readonly Link[] {
  if (value === null || value === undefined) return []
  const target = schema['x-references']
  if (target !== undefined) return [{ field, target, id: String(value) }]
  const { items, properties } = schema
  if (items !== undefined && Array.isArray(value))
    return value.flatMap((item, index) => readLinks(items, item, join(field, String(index))))
  if (properties === undefined || typeof value !== 'object') return []
  return Object.entries(properties).flatMap(([name, property]) =>
    readLinks(property, (value as Document)[name], join(field, name)),
  )
}

function join(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`
}
