import { writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { readConfig } from '../../../platform/config/read-config.ts'
import { BootError, ConfigError } from '../../../platform/diagnostics/boot-error.ts'
import type { Diagnostic } from '../../../platform/diagnostics/diagnostic.ts'
import {
  ByteSizeText,
  DurationText,
  FilePath,
  HttpAddress,
  HttpOrigin,
  PortNumber,
  SecretText,
} from '../../../platform/diagnostics/schema/value-schemas.ts'
import { diagnosticsOf } from '../../fixtures/diagnostics-of.ts'

const Schema = Type.Object({
  baseUrl: HttpOrigin('the public address'),
  listen: Type.Object({ host: Type.String(), port: PortNumber('the port') }),
  policies: FilePath('the folder of policy files'),
  development: Type.Optional(Type.Boolean()),
  loopback: Type.Optional(Type.Array(Type.String())),
  redis: Type.Optional(Type.Object({ url: SecretText('where Redis is') })),
  issuers: Type.Array(
    Type.Object({
      issuer: HttpAddress('the issuer'),
      clientSecretFile: FilePath('a secret'),
      timeout: Type.Optional(DurationText('how long')),
    }),
  ),
  tokenCache: Type.Optional(
    Type.Object({ maxTtl: DurationText('how long'), maxSize: Type.Optional(ByteSizeText('how much')) }),
  ),
  upstreams: Type.Optional(Type.Record(Type.String(), Type.Object({ url: HttpAddress('where it is') }))),
  log: Type.Optional(Type.Object({ level: Type.Enum(['info', 'debug']) })),
})

const GOOD = `baseUrl: http://127.0.0.1:8080
listen: { host: 127.0.0.1, port: 8080 }
policies: ../policies
issuers:
  - issuer: http://127.0.0.1:8080
    clientSecretFile: ../.scopegate/secret
upstreams:
  learning-platform: { url: "http://127.0.0.1:8082" }
`

function read(t: Test, text: string, env: Record<string, string | undefined> = {}) {
  const dir = t.testdir({ config: { 'gateway.yaml': text } })
  return { dir, ...readConfig({ file: join(dir, 'config', 'gateway.yaml'), schema: Schema, env }) }
}

function rejected(t: Test, text: string, env: Record<string, string> = {}): readonly Diagnostic[] {
  const found = diagnosticsOf(() => read(t, text, env))
  t.ok(found.length > 0, 'the configuration is rejected')
  return found
}

t.test(
  'readConfig() throws a BootError with exit code 3 that lists every problem with file, line and column',
  async (t) => {
    const text = GOOD.replace('8080\n', '8080/\n')
      .replace('port: 8080', 'port: "80"')
      .replace('policies:', 'polices:')
      .concat('log: { level: inf }\n')
    try {
      read(t, text)
      t.fail('the file was accepted')
    } catch (error) {
      t.ok(error instanceof BootError && error instanceof ConfigError)
      if (!(error instanceof ConfigError)) return
      t.equal(error.exitCode, 3)
      t.equal(error.code, 'ERR_CONFIG_INVALID')
      t.strictSame(
        error.diagnostics.map((one) => [one.code, one.location.line, one.location.column]),
        [
          ['C105', 1, 10],
          ['C104', 2, 34],
          ['C101', 3, 1],
          ['C102', 9, 15],
        ],
      )
      t.match(
        error.message,
        /gateway\.yaml:3:1\n.*\n3 \| polices: \.\.\/policies\n.*did you mean "policies"\?/,
      )
      t.notMatch(error.message, /\n\s+at /)
    }
  },
)

t.test('readConfig() explains a missing file, a folder and an empty file', async (t) => {
  const dir = t.testdir({ folder: {}, 'empty.yaml': '' })
  for (const [name, code] of [
    ['nowhere.yaml', 'C001'],
    ['folder', 'C001'],
    ['empty.yaml', 'C002'],
  ] as const)
    t.match(
      diagnosticsOf(() => readConfig({ file: join(dir, name), schema: Schema, env: {} })),
      [{ code }],
      name,
    )
})

t.test(
  'readConfig() names the environment variable that has an invalid value, and shows no secret',
  async (t) => {
    const env = {
      SCOPEGATE_LISTEN__PORT: '70000',
      SCOPEGATE_LOG__LEVEL: 'debgu',
      SCOPEGATE_DEVELOPMENT: 'yes',
      SCOPEGATE_TOKEN_CACHE__MAX_TTL: '30',
      REDIS_URL: 'x'.repeat(5_000),
    }
    const found = rejected(t, GOOD, env)
    t.strictSame(
      found.map((one) => [one.code, one.location.file, one.location.line]),
      [
        ['C106', 'environment variable REDIS_URL', undefined],
        ['C104', 'environment variable SCOPEGATE_DEVELOPMENT', undefined],
        ['C106', 'environment variable SCOPEGATE_LISTEN__PORT', undefined],
        ['C102', 'environment variable SCOPEGATE_LOG__LEVEL', undefined],
        ['C105', 'environment variable SCOPEGATE_TOKEN_CACHE__MAX_TTL', undefined],
      ],
    )
    t.notMatch(JSON.stringify(found), /xxx/)
  },
)

t.test('readConfig() rejects gaps in lists and keys below scalar values', async (t) => {
  const found = rejected(t, GOOD, { SCOPEGATE_ISSUERS__2__ISSUER: 'http://a' })
  t.match(found, [{ code: 'C111', hint: /without gaps/ }])
})

t.test(
  'readConfig() changes no prototype for a variable with __proto__ or constructor in its name',
  async (t) => {
    const { value, warnings } = read(t, GOOD, {
      SCOPEGATE___PROTO____POLLUTED: '1',
      SCOPEGATE_CONSTRUCTOR__PROTOTYPE__X: '1',
      SCOPEGATE_LISTEN____PROTO__: '1',
    })
    t.equal(({} as Record<string, unknown>)['POLLUTED'], undefined)
    t.equal(Object.hasOwn(value, '__proto__'), false)
    t.strictSame(
      warnings.map((one) => one.code),
      ['C110', 'C110', 'C110'],
    )
  },
)

t.test('readConfig() warns about a variable without a key, and suggests the most similar name', async (t) => {
  const { warnings } = read(t, GOOD, {
    SCOPEGATE_TOKEN_CACH__MAX_TTL: '5s',
    SCOPEGATE_CONFIG_DIR: '/etc',
    SCOPEGATE_LISTEN__PROT: '1',
    OTHER: 'x',
  })
  t.strictSame(
    warnings.map((one) => [one.severity, one.code, one.hint]),
    [
      ['warning', 'C110', 'did you mean SCOPEGATE_LISTEN__PORT?'],
      ['warning', 'C110', 'did you mean SCOPEGATE_TOKEN_CACHE__MAX_TTL?'],
    ],
  )
})

t.test('readConfig() overrides every kind of value, in any case of the key', async (t) => {
  const { value, warnings } = read(t, GOOD, {
    SCOPEGATE_BASE_URL: 'https://api.example.com',
    SCOPEGATE_LISTEN__PORT: '0',
    SCOPEGATE_DEVELOPMENT: 'true',
    SCOPEGATE_LOOPBACK: '127.0.0.1, ::1',
    SCOPEGATE_TOKEN_CACHE__MAX_TTL: '5s',
    SCOPEGATE_ISSUERS__0__TIMEOUT: '2s',
    SCOPEGATE_ISSUERS__1: '{ issuer: "https://b.example.com", clientSecretFile: /b }',
    SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: 'http://10.0.0.1:1',
    SCOPEGATE_UPSTREAMS__MORE_FILES__URL: 'http://10.0.0.2:2',
    SCOPEGATE_LOG__LEVEL: '',
  })
  t.strictSame(warnings, [])
  t.match(value, {
    baseUrl: 'https://api.example.com',
    listen: { host: '127.0.0.1', port: 0 },
    development: true,
    loopback: ['127.0.0.1', '::1'],
    tokenCache: { maxTtl: '5s' },
    issuers: [
      { issuer: 'http://127.0.0.1:8080', timeout: '2s' },
      { issuer: 'https://b.example.com', clientSecretFile: '/b' },
    ],
    upstreams: {
      'learning-platform': { url: 'http://10.0.0.1:1' },
      'more-files': { url: 'http://10.0.0.2:2' },
    },
  })
  t.equal(value.log, undefined, 'an empty variable counts as absent')
})

t.test('readConfig() prefers the long form over PORT and REDIS_URL', async (t) => {
  const short = read(t, GOOD, { PORT: '1', REDIS_URL: 'redis://a' }).value
  t.match(short, { listen: { port: 1 }, redis: { url: 'redis://a' } })
  const long = read(t, GOOD, {
    PORT: '1',
    SCOPEGATE_LISTEN__PORT: '2',
    SCOPEGATE_REDIS__URL: 'redis://b',
    REDIS_URL: 'redis://a',
  }).value
  t.match(long, { listen: { port: 2 }, redis: { url: 'redis://b' } })
})

t.test(
  'readConfig() reads a value from the file that a _FILE variable names, or reports the reason',
  async (t) => {
    const dir = t.testdir({ redis: 'redis://:s3cret@db:6379\n', 'gateway.yaml': GOOD })
    const readWith = (env: Record<string, string>) =>
      readConfig({ file: join(dir, 'gateway.yaml'), schema: Schema, env })
    const long = readWith({ SCOPEGATE_REDIS__URL_FILE: join(dir, 'redis') })
    t.equal(long.value.redis?.url, 'redis://:s3cret@db:6379')
    const short = readWith({ REDIS_URL_FILE: join(dir, 'redis') })
    t.equal(short.value.redis?.url, 'redis://:s3cret@db:6379')
    t.match(
      diagnosticsOf(() => readWith({ SCOPEGATE_REDIS__URL_FILE: '/nowhere' })),
      [{ code: 'C001', message: /SCOPEGATE_REDIS__URL_FILE/ }],
    )
  },
)

t.test(
  'readConfig() treats a key that ends in File as a path, also for a variable that ends in _FILE',
  async (t) => {
    const { value, dir } = read(t, GOOD, { SCOPEGATE_ISSUERS__0__CLIENT_SECRET_FILE: 'relative/secret' })
    t.equal(value.issuers[0]?.clientSecretFile, resolve('relative/secret'), 'relative to the working folder')
    t.equal(value.policies, join(dir, 'policies'), 'relative to the folder of the file')
  },
)

t.test('readConfig() reads one section of the environment for a separate file', async (t) => {
  const Upstream = Type.Object({ url: HttpAddress('where it is') })
  const Upstreams = Type.Object(
    {},
    { patternProperties: { '^[a-z-]+$': Upstream }, additionalProperties: false },
  )
  const dir = t.testdir({
    'upstreams.yaml': 'learning-platform: { url: "http://127.0.0.1:8082" }\n',
    'gateway.yaml': GOOD.replace(/upstreams:\n.*\n/, ''),
  })
  const env = {
    SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: 'http://10.0.0.1:1',
    SCOPEGATE_BASE_URL: 'http://b',
  }
  const file = join(dir, 'upstreams.yaml')
  const upstreams = readConfig({ file, schema: Upstreams, env, section: 'UPSTREAMS' })
  t.match(upstreams, { value: { 'learning-platform': { url: 'http://10.0.0.1:1' } } })
  t.strictSame(upstreams.warnings, [])
  const options = { file: join(dir, 'gateway.yaml'), schema: Schema, env, otherSections: ['UPSTREAMS'] }
  const gateway = readConfig(options)
  t.equal(gateway.value.baseUrl, 'http://b')
  t.strictSame(gateway.warnings, [])
})

t.test('readConfig() freezes the whole result', async (t) => {
  const { value } = read(t, GOOD)
  t.ok(
    Object.isFrozen(value) &&
      Object.isFrozen(value.listen) &&
      Object.isFrozen(value.issuers) &&
      Object.isFrozen(value.issuers[0]),
  )
})

t.test('readConfig() reads digits as a number if the key accepts a number or a word', async (t) => {
  const file = join(t.testdir({ 'gateway.yaml': 'workers: auto\n' }), 'gateway.yaml')
  const schema = Type.Object({ workers: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1 })]) })
  const workers = (given: string) =>
    readConfig({ file, schema, env: { SCOPEGATE_WORKERS: given } }).value.workers
  t.equal(workers('1'), 1)
  t.equal(workers('auto'), 'auto')
  t.throws(() => workers('0'), ConfigError)
})

/** Returns the location of a value from an environment variable. */
const inVariable = (name: string) => ({
  file: `environment variable ${name}`,
  line: undefined,
  column: undefined,
  length: 1,
  text: undefined,
})

t.test('readConfig() names the variable in each message, and repeats no name', async (t) => {
  const found = rejected(t, GOOD, {
    SCOPEGATE_LISTEN__PORT: '70000',
    SCOPEGATE_ISSUERS__7: '{ issuer: 1 }',
    SCOPEGATE_BASE_URL__X: 'y',
    SCOPEGATE_ISSUERS__0__CLIENT_SECRET_FILE_FILE: '/nowhere/secret',
  })
  t.strictSame(found, [
    {
      code: 'C110',
      severity: 'warning',
      message: 'SCOPEGATE_BASE_URL__X matches no configuration key',
      location: inVariable('SCOPEGATE_BASE_URL__X'),
      hint: 'did you mean SCOPEGATE_BASE_URL?',
      related: [],
    },
    {
      code: 'C001',
      severity: 'error',
      message:
        'the file at the path in SCOPEGATE_ISSUERS__0__CLIENT_SECRET_FILE_FILE cannot be read (ENOENT)',
      location: inVariable('SCOPEGATE_ISSUERS__0__CLIENT_SECRET_FILE_FILE'),
      hint: 'write a file that this user may read to /nowhere/secret',
      related: [],
    },
    {
      code: 'C111',
      severity: 'error',
      message:
        'SCOPEGATE_ISSUERS__7 cannot be set: its parent must be a map, or a list with all earlier items',
      location: inVariable('SCOPEGATE_ISSUERS__7'),
      hint: 'number list items from 0, without gaps',
      related: [],
    },
    {
      code: 'C106',
      severity: 'error',
      message: 'SCOPEGATE_LISTEN__PORT: listen.port must be at most 65535',
      location: inVariable('SCOPEGATE_LISTEN__PORT'),
      hint: undefined,
      related: [],
    },
  ])
})

t.test(
  'readConfig() sets a value below an absent or empty parent, and rejects a value below a text',
  async (t) => {
    const Loose = Type.Object({
      map: Type.Optional(
        Type.Object({ inner: Type.Optional(Type.Object({ a: Type.Optional(Type.String()) })) }),
      ),
      list: Type.Optional(Type.Array(Type.Object({ a: Type.Optional(Type.String()) }))),
    })
    const loose = (text: string, env: Record<string, string>) => {
      const file = join(t.testdir({ 'a.yaml': text }), 'a.yaml')
      return JSON.stringify(readConfig({ file, schema: Loose, env }).value)
    }
    t.equal(loose('{}', { SCOPEGATE_MAP__INNER__A: 'x' }), '{"map":{"inner":{"a":"x"}}}')
    t.equal(loose('map:\n', { SCOPEGATE_MAP__INNER__A: 'x' }), '{"map":{"inner":{"a":"x"}}}')
    t.equal(loose('map: { inner: {} }\n', { SCOPEGATE_MAP__INNER__A: 'x' }), '{"map":{"inner":{"a":"x"}}}')
    t.equal(loose('{}', { SCOPEGATE_LIST__0__A: 'x' }), '{"list":[{"a":"x"}]}')
    t.equal(
      loose('list: [{ a: p }, { a: q }]\n', { SCOPEGATE_LIST__1__A: 'x', SCOPEGATE_LIST__2__A: 'y' }),
      '{"list":[{"a":"p"},{"a":"x"},{"a":"y"}]}',
    )
    for (const [text, env] of [
      ['{}', { SCOPEGATE_LIST__1__A: 'x' }],
      ['list: {}\n', { SCOPEGATE_LIST__0__A: 'x' }],
      ['map: text\n', { SCOPEGATE_MAP__INNER__A: 'x' }],
      ['map: []\n', { SCOPEGATE_MAP__INNER__A: 'x' }],
      ['map: { inner: 7 }\n', { SCOPEGATE_MAP__INNER__A: 'x' }],
    ] as const)
      t.match(
        diagnosticsOf(() => loose(text, env)).filter(({ code }) => code === 'C111'),
        [{ location: inVariable(Object.keys(env)[0] ?? '') }],
        `${text} ${JSON.stringify(env)}`,
      )
  },
)

t.test('readConfig() adds the defaults of absent keys, also in nested maps and for overrides', async (t) => {
  const Loose = Type.Object({
    text: Type.String(),
    count: Type.Integer(),
    folder: FilePath('a folder'),
    map: Type.Object({ a: Type.String(), deep: Type.Optional(Type.Object({ b: Type.Integer() })) }),
    upstreams: Type.Optional(Type.Record(Type.String(), Type.Object({ url: Type.String() }))),
  })
  const defaults = {
    text: 'plain',
    count: 3,
    folder: '../data',
    map: { a: 'x', deep: { b: 1 } },
    upstreams: { 'One-Two': { url: 'http://a' } },
  }
  const dir = t.testdir({ config: { 'a.yaml': '', 'none.yaml': '{}', 'some.yaml': '' } })
  const loose = (text: string, env: Record<string, string> = {}) => {
    const file = join(dir, 'config', 'a.yaml')
    writeFileSync(file, text)
    return readConfig({ file, schema: Loose, env, defaults })
  }
  const folder = join(dir, 'data')
  const upstreams = { 'One-Two': { url: 'http://a' } }
  const whole = { text: 'plain', count: 3, folder, map: { a: 'x', deep: { b: 1 } }, upstreams }
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
  t.strictSame(plain(loose('{}').value), whole)
  t.strictSame(plain(loose('map: { a: y }\ncount: 4\n').value), {
    ...whole,
    count: 4,
    map: { a: 'y', deep: { b: 1 } },
  })
  t.strictSame(plain(loose('text: other\nmap: { deep: { b: 2 } }\n').value), {
    ...whole,
    text: 'other',
    map: { a: 'x', deep: { b: 2 } },
  })
  // The defaults contain `One-Two`. For the variable ONETWO, the key keeps this spelling.
  t.strictSame(plain(loose('{}', { SCOPEGATE_UPSTREAMS__ONETWO__URL: 'http://b' }).value), {
    ...whole,
    upstreams: { 'One-Two': { url: 'http://b' } },
  })
  for (const [text, message] of [
    ['map:\n', 'map must be a map of keys, not empty'],
    ['map: []\n', 'map must be a map of keys, not a list'],
    ['map: x\n', 'map must be a map of keys, not a string'],
    ['x\n', 'the file must be a map of keys, not a string'],
    ['[]\n', 'the file must be a map of keys, not a list'],
  ] as const)
    t.strictSame(
      diagnosticsOf(() => loose(text)).map((one) => one.message),
      [message],
      text,
    )
  const { value } = loose('{}')
  t.equal(Object.getPrototypeOf(value), null)
  t.equal(Object.getPrototypeOf(value.map), null)
  t.ok(Object.isFrozen(value.map.deep), 'each level is frozen')
})

t.test(
  'readConfig() makes each path absolute if its schema is marked as a path, also in lists, unions and maps',
  async (t) => {
    const Paths = Type.Object({
      one: FilePath('a file'),
      list: Type.Array(FilePath('a file')),
      words: Type.Array(Type.String()),
      any: Type.Union([Type.Literal('auto'), FilePath('a file')]),
      optional: Type.Union([Type.Null(), Type.Object({ inner: FilePath('a file'), text: Type.String() })]),
      byName: Type.Record(Type.String(), Type.Object({ file: FilePath('a file') })),
      free: Type.Unknown(),
      nothing: Type.Null(),
      count: Type.Integer(),
    })
    const dir = t.testdir({
      config: {
        'a.yaml': `one: ../a
list: [b, /c, d]
words: [w]
any: e
optional: { inner: f, text: g }
byName: { h: { file: i } }
free: { j: k, l: [m] }
nothing: null
count: 1
`,
      },
    })
    const file = join(dir, 'config', 'a.yaml')
    const env = { SCOPEGATE_LIST__2: 'z', SCOPEGATE_BY_NAME__H__FILE: 'y' }
    const { value, locationOf } = readConfig({ file, schema: Paths, env })
    const inside = (name: string): string => join(dir, 'config', name)
    t.strictSame(JSON.parse(JSON.stringify(value)), {
      one: join(dir, 'a'),
      list: [inside('b'), '/c', resolve('z')],
      words: ['w'],
      any: inside('e'),
      optional: { inner: inside('f'), text: 'g' },
      byName: { h: { file: resolve('y') } },
      free: { j: 'k', l: ['m'] },
      nothing: null,
      count: 1,
    })
    t.equal(Object.getPrototypeOf(value.byName), null)
    const at = (path: (string | number)[]) => {
      const { file, line, column, length, text } = locationOf(path)
      return { file, line, column, length, text }
    }
    t.strictSame(at(['list', 2]), inVariable('SCOPEGATE_LIST__2'))
    t.strictSame(at(['list', 2, 'below']), inVariable('SCOPEGATE_LIST__2'))
    t.match(at(['list', 1]), { line: 2, column: 11, length: 2, text: 'list: [b, /c, d]' })
    t.match(at(['one']), { line: 1, column: 6, length: 4 })
  },
)

t.test('readConfig() returns the warnings of the environment, and sorts errors by location', async (t) => {
  const { warnings } = read(t, GOOD, { SCOPEGATE_ELEPHANT: 'x' })
  t.strictSame(warnings, [
    {
      code: 'C110',
      severity: 'warning',
      message: 'SCOPEGATE_ELEPHANT matches no configuration key',
      location: inVariable('SCOPEGATE_ELEPHANT'),
      hint: undefined,
      related: [],
    },
  ])
  const found = rejected(t, `${GOOD}tokenCache: { maxTtl: 5 }\nnone: 1\n`.replace('../policies', '""'), {})
  t.strictSame(
    found.map(({ code, location }) => [code, location.line]),
    [
      ['C106', 3],
      ['C104', 9],
      ['C101', 10],
    ],
  )
})

t.test('readConfig() shows a file in the working folder by its relative path', async (t) => {
  const dir = t.testdir({ 'gateway.yaml': '' })
  const file = join(dir, 'gateway.yaml')
  const [found] = diagnosticsOf(() => readConfig({ file, schema: Schema, env: {} }))
  t.strictSame(found, {
    code: 'C002',
    severity: 'error',
    message: 'the file is empty',
    location: { ...inVariable(''), file: relative(process.cwd(), file) },
    hint: undefined,
    related: [],
  })
})
