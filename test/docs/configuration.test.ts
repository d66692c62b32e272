import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { readAuthorizationServerConfig } from '../../authorization-server/config.ts'
import { readGatewayConfig } from '../../gateway/config/read-gateway-config.ts'
import { toUpstreamSettings } from '../../gateway/config/to-gateway-config.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { CONFIGURATION, notation } from '../../scripts/configuration-reference.ts'
import { keysOf, type Schema } from '../../scripts/schema-keys.ts'
import { aCertificate } from '../fixtures/a-certificate.ts'

// Operators rely on the defaults in docs/configuration.md and docs/limits.md.
const LIMITS = readFileSync(join(findPackageRoot(), 'docs/limits.md'), 'utf8')
const SCOPES = stringify({
  scopes: [
    { name: 'openid', description: 'Know you', group: 'Identity', sensitivity: 'identity' },
    { name: 'books:read', description: 'See books', group: 'Books', sensitivity: 'read' },
  ],
})
const { cert, key } = aCertificate()

/** Files with every map that can contain a default, and without any key that has a default. */
const MINIMAL = {
  'gateway.yaml': {
    baseUrl: 'https://api.test',
    tls: { certFile: './tls.crt', keyFile: './tls.key' },
    issuers: [
      {
        issuer: 'https://login.test',
        jwt: {},
        introspection: {
          endpoint: 'https://login.test/introspect',
          clientId: 'gateway',
          clientSecretFile: './secret',
        },
      },
    ],
  },
  'upstreams.yaml': { url: 'http://127.0.0.1:8082', healthCheck: { path: '/healthz' } },
  'authorization-server.yaml': {
    issuer: 'https://login.test',
    name: 'Test',
    listen: { host: '127.0.0.1', port: 8081 },
    management: { host: '127.0.0.1', port: 9091 },
    scopes: './scopes.yaml',
    dataDir: '.',
    store: { type: 'postgres' },
    postgres: { url: 'postgres://scopegate@127.0.0.1:5432/scopegate' },
    gatewayClient: { id: 'gateway', secretFile: './secret' },
    signingKeysFile: './keys.json',
    cookieKeysFile: './secret',
    integrations: [{ clientId: 'app', clientName: 'App', redirectUris: ['https://app.test/callback'] }],
    canary: { clientSecretFile: './secret', scopes: ['books:read'] },
    signIn: { secondFactor: { mode: 'optional' } },
  },
} as const

type FileName = keyof typeof MINIMAL

/** Returns a reader that returns the configuration of a file with this content. */
function readerOf(t: Test, file: FileName): (content: object) => unknown {
  const configDir = t.testdir({
    config: {
      'scopes.yaml': SCOPES,
      'upstreams.yaml': 'api: { url: http://127.0.0.1:8082 }\n',
      'tls.crt': cert,
      'tls.key': key,
      secret: 'a secret of the test\n',
    },
    policies: {},
  })
  const folder = join(configDir, 'config')
  return (content) => {
    if (file === 'upstreams.yaml')
      return toUpstreamSettings('api', content, {
        ca: undefined,
        certificate: undefined,
        credentials: undefined,
      })
    writeFileSync(join(folder, file), stringify(content))
    const read = file === 'gateway.yaml' ? readGatewayConfig : readAuthorizationServerConfig
    return read({ configDir: folder, env: {} }).config
  }
}

/** Returns a copy of a value with a value at a path such as `issuers[].jwt.refresh`. Changes each item of a list. */
function withValue(target: unknown, [first = '', ...rest]: readonly string[], value: unknown): unknown {
  const name = first.replace('[]', '')
  const map = (target ?? {}) as Record<string, unknown>
  const inner = map[name]
  if (rest.length === 0) return { ...map, [name]: value }
  const changed = Array.isArray(inner)
    ? inner.map((item) => withValue(item, rest, value))
    : withValue(inner, rest, value)
  return { ...map, [name]: changed }
}

for (const { file, defaults } of CONFIGURATION)
  t.test(`a key of ${file} with its default has the same effect as no key`, (t) => {
    const read = readerOf(t, file as FileName)
    const minimal = MINIMAL[file as FileName]
    const expected = read(minimal)
    const maps = Map.groupBy(Object.entries(defaults), ([path]) => path.replace(/[^.]*$/, ''))
    for (const [map, entries] of maps) {
      // Some maps require all their keys.
      const content = entries.reduce<unknown>(
        (changed, [path, value]) => withValue(changed, path.split('.'), value),
        minimal,
      )
      t.same(read(content as object), expected, map)
    }
    t.end()
  })

const isTime = ({ pattern = '' }: Schema) => /ms\||\(ms|\)s\||\]\)s\$/.test(pattern)
const isSize = ({ pattern = '' }: Schema) => pattern.includes('MiB')
const isNumber = ({ type, anyOf = [] }: Schema) =>
  type === 'integer' || anyOf.some((one) => one.type === 'integer')

/** Returns the rows of a section: each key with its default. A row can contain several keys. */
function limitsIn(section: string): ReadonlyMap<string, string> {
  const [, text = ''] = LIMITS.split(`\n## ${section}\n`)
  const rows = (text.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]+) \| ([^|]+) \|/gm)
  const split = (cell: string) => cell.replaceAll('`', '').split(', ')
  return new Map(
    [...rows].flatMap(([, keys = '', values = '']) =>
      split(keys).map((key, index) => [key, split(values)[index] ?? ''] as const),
    ),
  )
}

for (const [section, file] of [
  ['Gateway', 'gateway.yaml'],
  ['Upstreams and policies', 'upstreams.yaml'],
  ['Authorization server', 'authorization-server.yaml'],
] as const)
  t.test(`docs/limits.md lists each time, size and number of ${file} with its default`, (t) => {
    const { schema = {}, defaults = {} } = CONFIGURATION.find((one) => one.file === file) ?? {}
    const limits = keysOf(schema)
      .filter(({ schema: one }) => isTime(one) || isSize(one) || isNumber(one))
      .filter(({ key }) => !key.endsWith('.port'))
    t.ok(limits.length > 4, `${limits.length} limits`)
    const shown = limitsIn(section)
    for (const { key } of limits)
      t.equal(shown.get(key), key in defaults ? notation(defaults[key]) : 'none', key)
    t.end()
  })
