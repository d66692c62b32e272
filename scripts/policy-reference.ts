import { policySchema } from '../policy-engine/format/policy-schema.ts'

type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

type Row = readonly [key: string, value: string, description: string]

/**
 * Returns the key tables of docs/policies.md. Each key of the result is the name of a marker in this page. The tables
 * come from the schema of the policy loader.
 */
export function policyReference(): Readonly<Record<string, string>> {
  const file = policySchema('Policy') as Schema
  const { routes, tests, defaults, ...rest } = file.properties ?? {}
  const asIn = Object.keys(defaults?.properties ?? {})
    .map((key) => `\`${key}\``)
    .join(', ')
  return {
    'keys of a file': table([
      ...rowsOf({ ...file, properties: rest }, ''),
      ['`defaults`', 'map', `${defaults?.description ?? ''} It takes ${asIn}.`],
      ['`routes` (required)', 'list', routes?.description ?? ''],
      ['`tests`', 'list', tests?.description ?? ''],
    ]),
    'keys of a route': table(rowsOf(routes?.items ?? {}, '')),
    'keys of a test': table(rowsOf(tests?.items ?? {}, '')),
  }
}

/** Returns one row for each key of an object schema, at any depth, in the order of the schema. */
function rowsOf(schema: Schema, prefix: string): readonly Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const key = `${prefix}${name}`
    const required = schema.required?.includes(name) === true ? ' (required)' : ''
    const row: Row = [`\`${key}\`${required}`, valueText(one), one.description ?? '']
    const inner = one.type === 'array' ? one.items : one
    const below =
      inner?.properties === undefined ? [] : rowsOf(inner, `${key}${one.type === 'array' ? '[]' : ''}.`)
    return [row, ...below]
  })
}

function valueText(schema: Schema): string {
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
  return minimum === undefined || maximum === undefined ? noun : `${noun}, ${minimum} to ${maximum}`
}

function textOf(pattern: string): string {
  if (/\bms\b|ms\|/.test(pattern)) return 'duration: `250ms`, `5s`, `1m`'
  if (/MiB/.test(pattern)) return 'size: `512KiB`, `10MiB`'
  if (/\[0-9\]\{0,\d+\}s\|/.test(pattern)) return 'duration: `1s`, `1m`, `1h`'
  return 'text'
}

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => `| ${row.map(cell).join(' | ')} |`)
  return ['| key | value | description |', '| --- | --- | --- |', ...lines].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
