import type { CollectionFamily, SingletonFamily } from './family.ts'
import { group, instant } from './fields.ts'
import type { Fields, JsonSchema } from './json-schema.ts'

const who: JsonSchema = { type: 'string', description: 'The subject of the access token that wrote it.' }

/** The schema of an object with these fields, all of them present. */
export function closed(title: string, fields: Fields): JsonSchema {
  return {
    title,
    type: 'object',
    additionalProperties: false,
    required: Object.keys(fields),
    properties: fields,
  }
}

/** What a writer sends to create or replace a resource. */
export function draftSchema(family: CollectionFamily | SingletonFamily): JsonSchema {
  return { title: `${titleOf(family)}Draft`, ...group(family.fields) }
}

/** What a writer sends to change a resource. Source: RFC 7396. */
export function patchSchema(family: CollectionFamily | SingletonFamily): JsonSchema {
  return {
    ...toPatch(group(family.fields)),
    title: `${titleOf(family)}Patch`,
    type: 'object',
    minProperties: 1,
  }
}

/** A resource of a collection as identified callers read it. */
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

/** A resource of a collection as the public reads it. @returns undefined when the public reads none. */
export function publicSchema(family: CollectionFamily): JsonSchema | undefined {
  if (family.publicView === undefined) return undefined
  const all: Fields = { ...family.fields, ...family.derived?.fields }
  return closed(`Public${titleOf(family)}`, {
    id: idSchema(family),
    ...pick(all, family.publicView.fields),
  })
}

/** A singleton as identified callers read it. */
export function singletonSchema(family: SingletonFamily): JsonSchema {
  return closed(titleOf(family), {
    ...family.asker?.fields,
    ...family.fields,
    updated_by: who,
    updated_at: instant(),
  })
}

/** A singleton as the public reads it. */
export function publicSingletonSchema(family: SingletonFamily): JsonSchema {
  const { constant = {}, fields } = family.publicView
  const fixed = Object.keys(constant).map((name) => [name, { type: 'null' }] as const)
  return closed(`Public${titleOf(family)}`, { ...Object.fromEntries(fixed), ...pick(family.fields, fields) })
}

/** `MembershipPlan` of `membership-plan`. */
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

/** Every field may be left out, and null takes it away; a default would fill in what the patch leaves alone. */
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
