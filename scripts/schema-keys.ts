/** The part of a JSON Schema that the tables of keys show. */
export type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly maxItems?: number
  readonly anyOf?: readonly Schema[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly 'x-is'?: string
  readonly 'x-path'?: boolean
}

export type SchemaKey = { readonly key: string; readonly isRequired: boolean; readonly schema: Schema }

/** Returns each key of an object schema, at any depth, in the order of the schema. `[]` marks the items of a list. */
export function keysOf(of: object, prefix = ''): readonly SchemaKey[] {
  const schema: Schema = of
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const key = `${prefix}${name}`
    const isRequired = schema.required?.includes(name) === true
    const inner = one.type === 'array' ? one.items : one
    const below = inner === undefined ? [] : keysOf(inner, `${key}${one.type === 'array' ? '[]' : ''}.`)
    return [{ key, isRequired, schema: one }, ...below]
  })
}

export function valueText(schema: Schema): string {
  if (schema.const !== undefined) return `\`${String(schema.const)}\``
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${String(one)}\``).join(' ')
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(valueText))].join(' or ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => valueText({ type })).join(' or ')
  switch (schema.type) {
    case 'array':
      return schema.items === undefined || schema.items.type === 'object'
        ? 'list'
        : `list of ${valueText(schema.items)}`
    case 'object':
      return 'map'
    case 'boolean':
      return '`true` `false`'
    case 'integer':
      return numberOf('whole number', schema)
    case 'number':
      return numberOf('number', schema)
    case 'string':
      return textOf(schema.pattern ?? '')
    default:
      return 'anything'
  }
}

function numberOf(noun: string, { minimum, maximum }: Schema): string {
  if (minimum === undefined) return noun
  return maximum === undefined ? `${noun}, at least ${minimum}` : `${noun}, ${minimum} to ${maximum}`
}

function textOf(pattern: string): string {
  if (/\bms\b|ms\|/.test(pattern)) return 'duration: `250ms`, `5s`, `1m`'
  if (/MiB/.test(pattern)) return 'size: `512KiB`, `10MiB`'
  if (/\[0-9\]\{0,\d+\}s\|/.test(pattern)) return 'duration: `1s`, `1m`, `1h`'
  return 'text'
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heads, heads.map(() => '---'), ...rows]
  return lines.map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
