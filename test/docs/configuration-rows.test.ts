import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { readOverrides } from '../../platform/config/environment-overrides.ts'
import { parseCidr } from '../../platform/diagnostics/schema/value-formats.ts'
import { CONFIGURATION, variableOf } from '../../scripts/configuration-reference.ts'
import { keysOf, type SchemaKey } from '../../scripts/schema-keys.ts'
import { readRepositoryFile } from '../fixtures/repository-texts.ts'

// Operators copy the examples and the environment variables of docs/configuration.md.
const PAGE = readRepositoryFile('docs/configuration.md')

/** Returns the cells of each row of a section by the key in the first cell. */
function rowsOf(section: string): ReadonlyMap<string, readonly string[]> {
  const [, text = ''] = PAGE.split(`\n## ${section}\n`)
  const rows = (text.split('\n## ')[0] ?? '').matchAll(/^\| `(.+?)` \| (.+) \|$/gm)
  return new Map(
    [...rows].map(([, key = '', cells = '']) => [
      key,
      cells.split(/(?<!\\) \| /).map((cell) => cell.replaceAll('`', '').replaceAll('\\|', '|')),
    ]),
  )
}

const ajv = new Ajv2020({ strict: false })
ajv.addFormat('cidr', (text) => parseCidr(text) !== undefined)
ajv.addFormat('url', (text) => URL.canParse(text))

/** Returns whether a key is a map or a list of maps, which has no example of its own. */
const isMap = ({ schema }: SchemaKey) => schema.type === 'object' || schema.items?.type === 'object'

for (const { file, schema } of CONFIGURATION)
  t.test(
    `docs/configuration.md has a row for each key of ${file}, with a valid example and its variable`,
    async (t) => {
      const rows = rowsOf(file)
      const keys = keysOf(schema)
      t.same(
        [...rows.keys()],
        keys.map(({ key }) => key),
      )
      const section = file === 'upstreams.yaml' ? 'UPSTREAMS' : undefined
      for (const one of keys.filter((entry) => !isMap(entry))) {
        const [, , example = '', variable = ''] = rows.get(one.key) ?? []
        const value: unknown = parse(example)
        t.equal(ajv.validate(one.schema, value), true, `${one.key}: ${example}`)
        t.equal(variable, variableOf(file, one.key))
        const { overrides, diagnostics } = readOverrides({
          env: {
            [variable.replace('<NAME>', 'API')]: Array.isArray(value) ? value.join(', ') : String(value),
          },
          schema: section === undefined ? schema : { type: 'object', additionalProperties: schema },
          value: section === undefined ? {} : { api: {} },
          section,
          otherSections: [],
        })
        t.same(diagnostics, [], variable)
        const path = overrides[0]?.path.filter((level) => typeof level !== 'number')
        const expected = one.key.replaceAll('[]', '').split('.')
        t.same(path, section === undefined ? expected : ['api', ...expected], variable)
      }
    },
  )
