import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import { readOverrides } from '../../../platform/config/environment-overrides.ts'

const TEXT = { type: 'string' }
const SCHEMA = {
  type: 'object',
  properties: {
    baseUrl: TEXT,
    'my-kebab-key': TEXT,
    listen: { type: 'object', properties: { host: TEXT, port: { type: 'integer' } } },
    redis: { type: 'object', properties: { url: TEXT } },
    ratio: { type: 'number' },
    limit: { anyOf: [{ type: 'null' }, { anyOf: [{ type: 'integer' }, TEXT] }] },
    development: { type: 'boolean' },
    names: { type: 'array', items: TEXT },
    listOrMap: {
      anyOf: [
        { type: 'array', items: TEXT },
        { type: 'object', properties: { inner: TEXT } },
      ],
    },
    map: { type: 'object' },
    untyped: {},
    nothing: { type: 'null' },
    issuers: { type: 'array', items: { type: 'object', properties: { issuer: TEXT } } },
    labels: { type: 'object', additionalProperties: TEXT },
    upstreams: {
      type: 'object',
      patternProperties: { '^[a-z][a-z-]*$': { type: 'object', properties: { url: TEXT } } },
      additionalProperties: false,
    },
    either: {
      anyOf: [
        { type: 'object', properties: { one: TEXT } },
        { type: 'object', additionalProperties: TEXT },
      ],
    },
  },
}

type Env = Readonly<Record<string, string | undefined>>
const read = (
  env: Env,
  options: { value?: unknown; section?: string; otherSections?: readonly string[]; schema?: object } = {},
) => {
  const { value = {}, section, otherSections = [], schema = SCHEMA } = options
  return readOverrides({ env, schema, value, section, otherSections })
}
const overrides = (env: Env, options: Parameters<typeof read>[1] = {}) =>
  read(env, options).overrides.map(({ path, value }) => [path.join('.'), value])
const hints = (env: Env, options: Parameters<typeof read>[1] = {}) =>
  read(env, options).diagnostics.map(({ hint }) => hint)

const converted = (key: string, given: string) =>
  read({ [`SCOPEGATE_${key}`]: given }).overrides.map(({ value }) => value)

t.test('readOverrides() orders short forms first, and long forms by name', async (t) => {
  const env = {
    SCOPEGATE_REDIS__URL: 'd',
    SCOPEGATE_LISTEN__PORT: '4',
    PORT: '1',
    REDIS_URL: 'a',
    OTHER: 'x',
    SCOPEGATE_CONFIG_DIR: '/etc',
    SCOPEGATE_BASE_URL: '',
    SCOPEGATE_MY_KEBAB_KEY: undefined,
  }
  t.strictSame(read(env), {
    overrides: [
      { name: 'REDIS_URL', path: ['redis', 'url'], value: 'a' },
      { name: 'PORT', path: ['listen', 'port'], value: 1 },
      { name: 'SCOPEGATE_LISTEN__PORT', path: ['listen', 'port'], value: 4 },
      { name: 'SCOPEGATE_REDIS__URL', path: ['redis', 'url'], value: 'd' },
    ],
    diagnostics: [],
  })
})

t.test('readOverrides() ignores a short form if the schema does not have its key', async (t) => {
  const schema = { type: 'object', properties: { baseUrl: TEXT } }
  t.strictSame(read({ PORT: '1', REDIS_URL: 'a' }, { schema }), { overrides: [], diagnostics: [] })
})

t.test('readOverrides() reads the variables of one section only', async (t) => {
  const env = { PORT: '1', SCOPEGATE_BASE_URL: 'x', SCOPEGATE_PART__BASE_URL: 'y', SCOPEGATE_PART_NO: 'z' }
  t.strictSame(read(env, { section: 'PART' }), {
    overrides: [{ name: 'SCOPEGATE_PART__BASE_URL', path: ['baseUrl'], value: 'y' }],
    diagnostics: [],
  })
  const { overrides, diagnostics } = read(env, { otherSections: ['PART'] })
  t.strictSame(
    overrides.map(({ name }) => name),
    ['PORT', 'SCOPEGATE_BASE_URL'],
  )
  t.strictSame(
    diagnostics.map(({ location }) => location.file),
    ['environment variable SCOPEGATE_PART_NO'],
  )
})

t.test('readOverrides() reads the content of a file without its last line break', async (t) => {
  const dir = t.testdir({})
  const file = join(dir, 'value')
  const long = { SCOPEGATE_BASE_URL_FILE: relative(process.cwd(), file) }
  for (const [content, value] of [
    ['text', 'text'],
    ['text\n', 'text'],
    ['text\r\n', 'text'],
    ['text\n\n', 'text\n'],
    ['\ntext \n', '\ntext '],
    ['é', 'é'],
  ] as const) {
    writeFileSync(file, content)
    t.strictSame(
      read(long),
      { overrides: [{ name: 'SCOPEGATE_BASE_URL_FILE', path: ['baseUrl'], value }], diagnostics: [] },
      JSON.stringify(content),
    )
  }
  writeFileSync(file, '1\n')
  t.strictSame(read({ SCOPEGATE_NAMES__0_FILE: file }).overrides, [
    { name: 'SCOPEGATE_NAMES__0_FILE', path: ['names', 0], value: '1' },
  ])
  const short = { PORT_FILE: file, REDIS_URL_FILE: file }
  t.strictSame(read(short).overrides, [
    { name: 'REDIS_URL_FILE', path: ['redis', 'url'], value: '1' },
    { name: 'PORT_FILE', path: ['listen', 'port'], value: 1 },
  ])
})

t.test('readOverrides() reports a file that cannot be read, with its path and the reason', async (t) => {
  const dir = t.testdir({ folder: {} })
  const nowhere = join(dir, 'nowhere')
  const folder = join(dir, 'folder')
  const location = (name: string) => ({
    file: `environment variable ${name}`,
    line: undefined,
    column: undefined,
    length: 1,
    text: undefined,
  })
  const about = (name: string, code: string, path: string) => ({
    code: 'C001',
    severity: 'error',
    message: `the file at the path in ${name} cannot be read (${code})`,
    location: location(name),
    hint: `write a file that this user may read to ${path}`,
    related: [],
  })
  t.strictSame(read({ PORT_FILE: nowhere, SCOPEGATE_BASE_URL_FILE: folder }), {
    overrides: [],
    diagnostics: [about('PORT_FILE', 'ENOENT', nowhere), about('SCOPEGATE_BASE_URL_FILE', 'EISDIR', folder)],
  })
})

t.test('readOverrides() warns about a variable that matches no key', async (t) => {
  t.strictSame(read({ SCOPEGATE_BASE_URI: 'x' }), {
    overrides: [],
    diagnostics: [
      {
        code: 'C110',
        severity: 'warning',
        message: 'SCOPEGATE_BASE_URI matches no configuration key',
        location: {
          file: 'environment variable SCOPEGATE_BASE_URI',
          line: undefined,
          column: undefined,
          length: 1,
          text: undefined,
        },
        hint: 'did you mean SCOPEGATE_BASE_URL?',
        related: [],
      },
    ],
  })
  for (const [name, hint] of [
    ['SCOPEGATE_CONFIG_DRI', 'did you mean SCOPEGATE_CONFIG_DIR?'],
    ['SCOPEGATE_MY_KEBAB_KAY', 'did you mean SCOPEGATE_MY_KEBAB_KEY?'],
    ['SCOPEGATE_ISSUERS__0__ISUER', 'did you mean SCOPEGATE_ISSUERS__0__ISSUER?'],
    ['SCOPEGATE_LIST_OR_MAP__INER', 'did you mean SCOPEGATE_LIST_OR_MAP__INNER?'],
    ['SCOPEGATE_ELEPHANT', undefined],
    // Only the part after SCOPEGATE_ counts, so `X` is not similar to a key.
    ['SCOPEGATE_X', undefined],
  ] as const)
    t.strictSame(hints({ [name]: 'x' }), [hint], name)
  t.strictSame(hints({ SCOPEGATE_PART__BASE_URI: 'x' }, { section: 'PART' }), [
    'did you mean SCOPEGATE_PART__BASE_URL?',
  ])
})

t.test('readOverrides() finds keys in any case and with any separators', async (t) => {
  for (const [name, path] of [
    ['BASE_URL', 'baseUrl'],
    ['baseurl', 'baseUrl'],
    ['B_A-S_E__URL', undefined],
    ['MY-KEBAB-KEY', 'my-kebab-key'],
    ['MYKEBABKEY', 'my-kebab-key'],
    ['LISTEN__HOST', 'listen.host'],
    ['LISTEN__', undefined],
    ['__LISTEN', undefined],
    ['LISTEN__HOST__MORE', undefined],
    ['NOTHING', undefined],
    ['ISSUERS__0__ISSUER', 'issuers.0.issuer'],
    ['NAMES__1', 'names.1'],
    ['NAMES__9999', 'names.9999'],
    ['NAMES__10000', undefined],
    ['NAMES__00', undefined],
    ['NAMES__01', undefined],
    ['NAMES__-1', undefined],
    ['NAMES__1X', undefined],
    ['NAMES__X1', undefined],
    ['LIST_OR_MAP__7', 'listOrMap.7'],
    ['LIST_OR_MAP__INNER', 'listOrMap.inner'],
    ['LABELS__ANY_THING', 'labels.any-thing'],
    ['LABELS__7', 'labels.7'],
    ['UPSTREAMS__LEARNING_PLATFORM__URL', 'upstreams.learning-platform.url'],
    ['LABELS__', undefined],
    ['LABELS___', undefined],
    ['UPSTREAMS__7__URL', undefined],
    ['UPSTREAMS__B7__URL', undefined],
    ['EITHER__ONE', 'either.one'],
    ['EITHER__TWO_THREE', 'either.two-three'],
  ] as const)
    t.strictSame(
      overrides({ [`SCOPEGATE_${name}`]: 'x' }).map(([found]) => found),
      path === undefined ? [] : [path],
      name,
    )
})

t.test('readOverrides() keeps the spelling of an existing key in a map with user-defined keys', async (t) => {
  const value = { labels: { Any_Thing: 'a' }, upstreams: { 'learning-platform': null } }
  t.strictSame(overrides({ SCOPEGATE_LABELS__ANY_THING: 'x' }, { value }), [['labels.Any_Thing', 'x']])
  t.strictSame(overrides({ SCOPEGATE_LABELS__OTHER: 'x' }, { value }), [['labels.other', 'x']])
  t.strictSame(overrides({ SCOPEGATE_UPSTREAMS__LEARNINGPLATFORM__URL: 'x' }, { value }), [
    ['upstreams.learning-platform.url', 'x'],
  ])
  for (const labels of [null, 'text', undefined])
    t.strictSame(overrides({ SCOPEGATE_LABELS__A: 'x' }, { value: { labels } }), [['labels.a', 'x']])
  t.strictSame(overrides({ SCOPEGATE_LABELS__A: 'x' }, { value: null }), [['labels.a', 'x']])
})

t.test('readOverrides() converts text to the type of the key, and keeps other text', async (t) => {
  const warnings: unknown[] = []
  const warned = (warning: unknown) => warnings.push(warning)
  process.on('warning', warned)
  t.teardown(() => process.removeListener('warning', warned))
  for (const [key, given, value] of [
    ['LISTEN__PORT', '0', 0],
    ['LISTEN__PORT', '-12', -12],
    ['LISTEN__PORT', '123456789012345', 123_456_789_012_345],
    ['LISTEN__PORT', '1234567890123456', '1234567890123456'],
    ['LISTEN__PORT', '1e3', '1e3'],
    ['LISTEN__PORT', ' 1', ' 1'],
    ['LISTEN__PORT', '1 ', '1 '],
    ['LISTEN__PORT', 'true', 'true'],
    ['RATIO', '1.25', 1.25],
    ['RATIO', '1.05', 1.05],
    ['RATIO', '1.', '1.'],
    ['RATIO', '1.x', '1.x'],
    ['RATIO', '1x5', '1x5'],
    ['LIMIT', '7', 7],
    ['LIMIT', 'auto', 'auto'],
    ['BASE_URL', '7', '7'],
    ['BASE_URL', 'true', 'true'],
    ['BASE_URL', '[a]', '[a]'],
    ['DEVELOPMENT', 'true', true],
    ['DEVELOPMENT', 'false', false],
    ['DEVELOPMENT', 'yes', 'yes'],
    ['UNTYPED', '[a]', '[a]'],
    ['NAMES', 'a', ['a']],
    ['NAMES', ' a , b ', ['a', 'b']],
    ['NAMES', ' [a, "b, c"]', ['a', 'b, c']],
    ['NAMES', '[!tag a]', ['a']],
    ['NAMES', '[a', '[a'],
    ['NAMES', '[&a x, *a]', '[&a x, *a]'],
    ['MAP', '{ a: 1 }', { a: 1 }],
    ['MAP', '{ a: 1', '{ a: 1'],
    ['MAP', 'a: b: c', 'a: b: c'],
    ['LIST_OR_MAP', 'a,b', ['a', 'b']],
  ] as const)
    t.strictSame(converted(key, given), [value], `${key} ${given}`)
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(warnings, [])
})
