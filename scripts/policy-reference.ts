import { policySchema } from '../policy-engine/format/policy-schema.ts'
import { SharedLimitEntry } from '../policy-engine/format/shared-limits.ts'
import { keysOf, type Schema, table, valueText } from './schema-keys.ts'

const HEADS = ['key', 'value', 'description']

/**
 * Returns the key tables of docs/policies.md. Each key of the result is the name of a marker in this page. The tables
 * come from the schemas of the loaders.
 */
export function policyReference(): Readonly<Record<string, string>> {
  const file = policySchema('Policy') as Schema
  const { routes, tests, defaults, ...rest } = file.properties ?? {}
  const asIn = Object.keys(defaults?.properties ?? {})
    .map((key) => `\`${key}\``)
    .join(', ')
  return {
    'keys of a file': table(HEADS, [
      ...rowsOf({ ...file, properties: rest }),
      ['`defaults`', 'map', `${defaults?.description ?? ''} It takes ${asIn}.`],
      ['`routes` (required)', 'list', routes?.description ?? ''],
      ['`tests`', 'list', tests?.description ?? ''],
    ]),
    'keys of a route': table(HEADS, rowsOf(routes?.items ?? {})),
    'keys of a shared limit': table(HEADS, rowsOf(SharedLimitEntry)),
    'keys of a test': table(HEADS, rowsOf(tests?.items ?? {})),
  }
}

function rowsOf(of: Schema): readonly (readonly string[])[] {
  return keysOf(of).map(({ key, isRequired, schema }) => [
    `\`${key}\`${isRequired ? ' (required)' : ''}`,
    valueText(schema),
    schema.description ?? '',
  ])
}
