import type { CollectionFamily, SingletonFamily } from './family.ts'
import { group, instant } from './fields.ts'
import type { Fields, JsonSchema } from './json-schema.ts'

const who: JsonSchema = { type: 'string', description: 'The subject of the access token of the last write.' }

/** Returns the schema of an object with exactly these required fields. */
export function closed(title: string, fields: Fields): JsonSchema {
  return {
    title,
    type: 'object',
    additionalProperties: false,
    required: Object.keys(fields),
    properties: fields,
  }
}

/** Returns the schema of the body to create or replace a resource. */
export function draftSchema(family: CollectionFamily | SingletonFamily): JsonSchema {
  return { title: `${titleOf(family)}Draft`, ...group(family.fields) }
}

/** Returns the schema of the body to change a resource. Source: RFC 7396. */
export function patchSchema(family: CollectionFamily | SingletonFamily): JsonSchema {
  return {
    ...toPatch(group(family.fields)),
    title: `${titleOf(family)}Patch`,
    type: 'object',
    minProperties: 1,
  }
}

/** Returns the schema of a resource for identified callers. */
export function resourceSchema(family: CollectionFamily): JsonSchema {
  return closed(titleOf(family), {
    id: idSchema(family),
    ...family.fields,
    ...family.derived?.fields,
    created_by: who,
    created_at: instant(),
    updated_by: who,
    updated_at: instant(),
  })
}

/**
 * Returns the schema of a resource for anonymous callers.
 * @returns undefined if anonymous callers cannot read a resource.
 */
export function publicSchema(family: CollectionFamily): JsonSchema | undefined {
  if (family.publicView === undefined) return undefined
  const all: Fields = { ...family.fields, ...family.derived?.fields }
  return closed(`Public${titleOf(family)}`, {
    id: idSchema(family),
    ...pick(all, family.publicView.fields),
  })
}

export function singletonSchema(family: SingletonFamily): JsonSchema {
  return closed(titleOf(family), {
    ...family.caller?.fields,
    ...family.fields,
    updated_by: who,
    updated_at: instant(),
  })
}

export function publicSingletonSchema(family: SingletonFamily): JsonSchema {
  const { constant = {}, fields } = family.publicView
  const fixed = Object.keys(constant).map((name) => [name, { type: 'null' }] as const)
  return closed(`Public${titleOf(family)}`, { ...Object.fromEntries(fixed), ...pick(family.fields, fields) })
}

/** Returns a schema title: `MembershipPlan` for `membership-plan`. */
export function titleOf(family: { readonly name: string; readonly singular?: string }): string {
  return (family.singular ?? family.name)
    .split(/[-_]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

function idSchema(family: CollectionFamily): JsonSchema {
  return { type: 'string', pattern: `^${family.idPrefix}_[0-9]{4,}$`, examples: [`${family.idPrefix}_0001`] }
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name] ?? {}]))
}

/**
 * Converts a schema for a merge patch. Every field is optional, and null removes a field. Removes defaults, because a
 * default would overwrite a field that the patch omits.
 */
function toPatch(schema: JsonSchema): JsonSchema {
  const { default: _default, required: _required, ...rest } = schema
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  const nullable = {
    ...rest,
    type: types.includes('null') ? types : [...types, 'null'],
    ...(schema.enum === undefined || schema.enum.includes(null) ? {} : { enum: [...schema.enum, null] }),
  }
  if (schema.properties === undefined) return nullable
  const properties = Object.entries(schema.properties).map(([name, field]) => [name, toPatch(field)] as const)
  return { ...nullable, properties: Object.fromEntries(properties) }
}
