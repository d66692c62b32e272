import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import t from 'tap'
import { parse } from 'yaml'
import { SCHEMAS, schemaFiles } from '../../../../cli/commands/schema/schemas.ts'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { listRepositoryFiles } from '../../../fixtures/repository-texts.ts'

const ROOT = findPackageRoot()
/** Every file of ours that the repository or `scopegate init` gives to users. Configurations of other programs follow. */
const SHIPPED = listRepositoryFiles().filter((path) =>
  /^(?:config|policies|examples\/(?:fastify-gateway|mcp-server)\/.*)\/[\w.-]+\.yaml$/.test(path),
)

/** Compiles a schema with an independent, strict validator. */
function compile(schema: unknown): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false })
  ajv.addVocabulary(['markdownDescription', 'defaultSnippets'])
  return ajv.compile(schema as object)
}

const VALIDATORS = new Map([...schemaFiles()].map(([file, text]) => [file, compile(JSON.parse(text))]))

/** Returns the schema that the first line of a file names, relative to the root of the folder. */
function schemaOfFile(path: string, text: string): string {
  const [, link = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? []
  return posix.join(posix.dirname(path), link)
}

t.test('the first line of each shipped file names a schema, which accepts the file', async (t) => {
  t.ok(SHIPPED.length > 30, `${SHIPPED.length} files`)
  for (const path of SHIPPED) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const schema = schemaOfFile(path, text)
    t.ok(existsSync(join(ROOT, schema)), `${path}: ${schema}`)
    const validate = VALIDATORS.get(schema)
    t.equal(validate?.(parse(text)), true, `${path}: ${JSON.stringify(validate?.errors)}`)
  }
})

t.test('init writes files whose first line names a schema in the new folder', async (t) => {
  const folder = t.testdir({})
  const terminal = aTerminal({ folder })
  t.equal(await main(['init', '.'], terminal), 0)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yaml'),
  )
  t.equal(files.length, 6)
  for (const path of files) {
    const text = readFileSync(join(folder, path), 'utf8')
    const schema = schemaOfFile(path, text)
    t.equal(compile(JSON.parse(readFileSync(join(folder, schema), 'utf8')))(parse(text)), true, path)
  }
})

/** A valid value of each kind, and the paths of its maps with a fixed set of keys. */
const EXAMPLES: Readonly<Record<string, readonly [object, readonly string[]]>> = {
  Policy: [
    {
      apiVersion: 'scopegate/v1',
      kind: 'Policy',
      name: 'things',
      upstream: 'things',
      routes: [{ name: 'list', match: { methods: ['GET'], path: '/things' } }],
    },
    ['', 'routes.0', 'routes.0.match'],
  ],
  PolicyTest: [
    {
      apiVersion: 'scopegate/v1',
      kind: 'PolicyTest',
      policy: 'things',
      tests: [{ it: 'lists', request: { method: 'GET', path: '/things' }, expect: { decision: 'allow' } }],
    },
    ['', 'tests.0', 'tests.0.request', 'tests.0.expect'],
  ],
  gateway: [
    { baseUrl: 'https://api.test', issuers: [{ issuer: 'https://login.test', jwt: {} }] },
    ['', 'issuers.0', 'issuers.0.jwt'],
  ],
  upstreams: [
    { api: { url: 'http://127.0.0.1:8082', healthCheck: { path: '/healthz' } } },
    ['api', 'api.healthCheck'],
  ],
  scopes: [
    { scopes: [{ name: 'books:read', description: 'See books', group: 'Books', sensitivity: 'read' }] },
    ['', 'scopes.0'],
  ],
  presets: [{ presets: { ours: { anonymous: 'deny' } } }, ['', 'presets.ours']],
  'authorization-server': [
    parse(readFileSync(join(ROOT, 'config/authorization-server.yaml'), 'utf8')),
    ['', 'listen', 'store', 'gatewayClient'],
  ],
  policySources: [
    [{ name: 'billing', folder: '/policies/billing', permissions: { pathPrefixes: ['/api/billing'] } }],
    ['0', '0.permissions'],
  ],
}

for (const kind of SCHEMAS.keys())
  t.test(
    `schema --kind ${kind} prints a schema that describes each key, and rejects unknown keys`,
    async (t) => {
      const terminal = aTerminal()
      t.equal(await main(['schema', '--kind', kind], terminal), 0)
      const schema = JSON.parse(terminal.said.out)
      t.ok([...schemaFiles().values()].includes(terminal.said.out), 'a file in schemas/ has the same content')
      const validate = compile(schema)
      const [value = {}, maps = []] = EXAMPLES[kind] ?? []
      t.ok(maps.length > 0)
      t.equal(validate(value), true, JSON.stringify(validate.errors))
      for (const map of maps) {
        const changed = structuredClone(value)
        const inner = map
          .split('.')
          .reduce<Record<string, unknown>>(
            (at, key) => (key === '' ? at : (at[key] as Record<string, unknown>)),
            changed as Record<string, unknown>,
          )
        inner['unknownKey'] = 1
        t.equal(validate(changed), false, `${map}.unknownKey`)
      }
      t.same(undescribed(schema, ''), [])
    },
  )

/** Returns the keys of a schema without a description, which an editor shows. */
function undescribed(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword === 'defaultSnippets') return []
    if (keyword !== 'properties') return undescribed(value, path)
    return Object.entries(value as Record<string, { description?: unknown }>).flatMap(([name, one]) => [
      ...(typeof one.description === 'string' ? [] : [`${path}.${name}`]),
      ...undescribed(one, `${path}.${name}`),
    ])
  })
}
