import t from 'tap'
import Type, { type TSchema } from 'typebox'
import { compileValidator, type Explain } from '../../../../platform/diagnostics/schema/compile-validator.ts'
import {
  AddressBlock,
  ByteSizeText,
  DurationText,
  HttpAddress,
  HttpOrigin,
  SecretText,
} from '../../../../platform/diagnostics/schema/value-schemas.ts'
import type { YamlPath } from '../../../../platform/diagnostics/yaml/yaml-locations.ts'

/** Returns a location for a path. The file name is the path. The column is 1 for a key and 2 for a value. */
const locationOf = (path: YamlPath, part: 'key' | 'value') => ({
  file: path.map((step) => (typeof step === 'number' ? `[${step}]` : step)).join('.'),
  line: 1,
  column: { key: 1, value: 2 }[part],
  length: 1,
  text: undefined,
})

/** Returns all problems of a value, one problem per line: code, path, key or value, message and hint. */
function problemsOf(schema: TSchema, value: unknown, explain?: Explain): readonly string[] {
  const check = compileValidator(schema, explain === undefined ? { letter: 'C' } : { letter: 'P', explain })
  return check(value, locationOf).map(({ code, severity, location, message, hint, related }) => {
    t.strictSame([severity, related], ['error', []])
    const at = `${location.file || '(root)'} ${['key', 'value'][(location.column ?? 0) - 1]}`
    return `${code} ${at}: ${message}${hint === undefined ? '' : ` => ${hint}`}`
  })
}

/** Returns the only problem of the value of the key `k`, without the code and the location. */
function problemOf(schema: TSchema, value: unknown): string | undefined {
  const [first, ...more] = problemsOf(Type.Object({ k: schema }), { k: value })
  t.strictSame(more, [])
  return first?.replace(' k value', '')
}

t.test('compileValidator() describes each kind of violation and its remedy', async (t) => {
  const Level = Type.Enum(['info', 'debug', 'on', 503 as never])
  const x80 = 'x'.repeat(78)
  for (const [schema, value, problem] of [
    [Level, 'info', undefined],
    [Level, 'debgu', 'C102: "debgu" is not one of info, debug, on, 503 => did you mean "debug"?'],
    [Level, 'elephant', 'C102: "elephant" is not one of info, debug, on, 503'],
    [
      Level,
      true,
      'C102: true is not one of info, debug, on, 503 => write on: YAML 1.1 tools convert it to true',
    ],
    [Level, false, 'C102: false is not one of info, debug, on, 503'],
    [Level, '503', 'C102: "503" is not one of info, debug, on, 503 => write 503 without quotes'],
    [Level, '50', 'C102: "50" is not one of info, debug, on, 503 => did you mean 503?'],
    // The YAML reader creates maps without a prototype.
    [Level, Object.assign(Object.create(null), { a: 1 }), 'C102: {"a":1} is not one of info, debug, on, 503'],
    [Level, [Object.create(null)], 'C102: [{}] is not one of info, debug, on, 503'],
    [Type.Enum(['503', '404']), 503, 'C102: 503 is not one of 503, 404 => write "503"'],
    [Type.Literal('v1'), 'v2', 'C102: "v2" is not v1 => did you mean "v1"?'],
    [Type.Literal('v1'), 'elephant', 'C102: "elephant" is not v1 => write v1'],
    [Type.Literal(7), 8, 'C102: 8 is not 7 => write 7'],
    [Type.String({ enum: ['a-word'], 'x-secret': true }), 'a-wird', 'C102: the value is not a-word'],
    [
      Type.Object({}),
      'http://orders.test',
      'C104: k must be a map of keys, not a string => a key needs a space after its colon',
    ],
    [
      Type.Object({}),
      'a:b',
      'C104: k must be a map of keys, not a string => a key needs a space after its colon',
    ],
    [
      Type.Object({ url: Type.String() }),
      'https://orders.test/a',
      'C104: k must be a map of keys, not a string => write { url: "https://orders.test/a" }',
    ],
    [
      Type.Object({ url: Type.String() }),
      'ftp://a b',
      'C104: k must be a map of keys, not a string => a key needs a space after its colon',
    ],
    [Type.Object({}), [{}], 'C104: k must be a map of keys, not a list => remove the "- " at the start'],
    [Type.Array(Type.String()), 'a b', 'C104: k must be a list, not a string => write [a, b]'],
    [Type.String(), 7, 'C104: k must be a string, not the number 7 => write "7"'],
    [Type.String(), true, 'C104: k must be a string, not the boolean true => write "true"'],
    [Type.String(), null, 'C104: k must be a string, not empty => write a value'],
    [Type.String(), ['x'], 'C104: k must be a string, not a list'],
    [Type.String(), { a: 1 }, 'C104: k must be a string, not a map of keys'],
    [Type.Integer(), '7', 'C104: k must be a whole number, not a string => write 7 without quotes'],
    [Type.Integer(), 1.5, 'C104: k must be a whole number, not the number 1.5'],
    [Type.Number(), 'x', 'C104: k must be a number, not a string'],
    [Type.Boolean(), 'yes', 'C104: k must be true or false, not a string => write true'],
    [Type.Null(), 'x', 'C104: k must be empty, not a string'],
    [
      Type.Unsafe({ type: ['string', 'integer'] }),
      true,
      'C104: k must be a string or a whole number, not the boolean true => write "true"',
    ],
    [
      DurationText('d'),
      5,
      'C104: k must be a duration such as 250ms, 5s, 1m, 12h or 30d, not the number 5 => did you mean 5s?',
    ],
    [SecretText('s'), 5, 'C104: k must be a string, not the number 5'],
    [
      DurationText('d'),
      '5 sec',
      'C105: "5 sec" is not a duration such as 250ms, 5s, 1m, 12h or 30d => did you mean 5s?',
    ],
    [
      ByteSizeText('d'),
      '5mb',
      'C105: "5mb" is not a size such as 512B, 16KiB, 10MiB or 1GiB => did you mean 5MiB?',
    ],
    [
      HttpOrigin('d'),
      'https://a.test/b',
      'C105: "https://a.test/b" is not a URL of scheme and host only, such as https://api.example.com => did you mean https://a.test?',
    ],
    [
      HttpOrigin('d'),
      'https://a.test:99999',
      'C105: "https://a.test:99999" is not a URL of scheme and host only, such as https://api.example.com',
    ],
    ...['http://a.test:99999', 'http://1.2.3.4.5', 'http://[::1::2]/a'].map(
      (url) =>
        [
          HttpAddress('d'),
          url,
          `C105: "${url}" is not a URL such as https://api.example.com, without user name, query or fragment`,
        ] as const,
    ),
    [HttpAddress('d'), 'http://a.test:65535/a', undefined],
    [
      AddressBlock('d'),
      'x',
      'C105: "x" is not an IP address or CIDR block such as 10.0.0.0/8, 192.0.2.7 or fd00::/8, except /0 and IPv6 blocks with IPv4 addresses',
    ],
    [AddressBlock('d'), '10.0.0.0/8', undefined],
    [Type.String({ pattern: '^a$' }), 'b', 'C105: "b" is not of the form ^a$'],
    [Type.String({ pattern: '^a$' }), ' a', 'C105: " a" is not of the form ^a$ => write "a"'],
    [Type.String({ format: 'cidr' }), 'b', 'C105: "b" is not of the form cidr'],
    [
      Type.String({ pattern: '^a$', 'x-secret': true, 'x-is': 'a secret' }),
      ' a',
      'C105: the value is not a secret',
    ],
    [Type.String({ pattern: '^a$' }), x80, `C105: "${x80}" is not of the form ^a$`],
    [Type.String({ pattern: '^a$' }), `${x80}x`, `C105: "${x80}… is not of the form ^a$`],
    [Type.Array(Type.String(), { minItems: 1 }), [], 'C106: k is empty'],
    [Type.String({ minLength: 1 }), '', 'C106: k is empty'],
    [Type.Object({}, { minProperties: 1 }), {}, 'C106: k is empty'],
    [Type.Integer({ minimum: 3 }), 2, 'C106: k must be at least 3'],
    [Type.Integer({ minimum: 3 }), 3, undefined],
    [Type.Integer({ maximum: 3 }), 4, 'C106: k must be at most 3'],
    [Type.String({ maxLength: 2 }), 'abc', 'C106: k has more than 2 characters'],
    [Type.Array(Type.Integer(), { maxItems: 2 }), [1, 2, 3], 'C106: k has more than 2 entries'],
    [
      Type.Record(Type.String(), Type.Integer(), { maxProperties: 1 }),
      { a: 1, b: 2 },
      'C106: k has more than 1 entries',
    ],
    [Type.Integer({ multipleOf: 2 }), 3, 'C106: k must be multiple of 2'],
  ] as const)
    t.equal(
      problemOf(schema as TSchema, value),
      problem,
      `${JSON.stringify(schema)} ${JSON.stringify(value)}`,
    )
})

t.test('compileValidator() locates a violation by its path, and a missing key by its map', async (t) => {
  const Inner = Type.Object({
    'a/b~c/d~e': Type.Optional(Type.Integer()),
    mode: Type.Optional(Type.Enum(['on'])),
    name: Type.String({ description: 'the name of it' }),
    version: Type.Enum(['v1']),
  })
  const schema = Type.Object({
    list: Type.Array(Inner),
    map: Type.Optional(Type.Record(Type.String(), Inner)),
  })
  t.strictSame(
    problemsOf(schema, {
      list: [{ name: 'x', version: 'v1' }, { 'a/b~c/d~e': 'x' }],
      map: { 0: { name: 1, version: 'v1' } },
    }),
    [
      'C103 list.[1] key: the key "name" is missing in list[1] => the name of it',
      'C103 list.[1] key: the key "version" is missing in list[1] => add "version: v1"',
      'C104 list.[1].a/b~c/d~e value: list[1].a/b~c/d~e must be a whole number, not a string',
      'C104 map.0.name value: map.0.name must be a string, not the number 1 => write "1"',
    ],
  )
  t.strictSame(
    problemsOf(schema, { list: [{ nam: 'x', version: 'v1' }, { version: 'v1' }] }),
    [
      'C101 list.[0].nam key: unknown key "nam" => did you mean "name"?',
      'C103 list.[1] key: the key "name" is missing in list[1] => the name of it',
    ],
    'a misspelled key hides the missing key of its own map only',
  )
  t.strictSame(problemsOf(schema, {}), ['C103 (root) key: the key "list" is missing in this file'])
  t.strictSame(problemsOf(schema, 7), ['C104 (root) value: the file must be a map of keys, not the number 7'])
  t.strictSame(problemsOf(schema, { list: [] }), [])
})

t.test(
  'compileValidator() reports an unknown key with the most similar key, or with all known keys',
  async (t) => {
    const schema = Type.Object({
      timeout: Type.String(),
      path: Type.Optional(Type.String()),
      'kebab-key': Type.Optional(Type.String()),
    })
    for (const [value, ...problems] of [
      [{ timout: '5s' }, 'C101 timout key: unknown key "timout" => did you mean "timeout"?'],
      [{ 'timeout:5s': null }, 'C101 timeout:5s key: unknown key "timeout:5s" => write "timeout: 5s"'],
      [
        { timeout: 'x', 'kebab-key:a:b': null },
        'C101 kebab-key:a:b key: unknown key "kebab-key:a:b" => write "kebab-key: a:b"',
      ],
      [
        { timeout: 'x', 'elephant:x': null },
        'C101 elephant:x key: unknown key "elephant:x" => valid keys: timeout, path, kebab-key',
      ],
      [
        { timeout: 'x', 'x timeout:5s': null },
        'C101 x timeout:5s key: unknown key "x timeout:5s" => valid keys: timeout, path, kebab-key',
      ],
      [
        { elephant: 1 },
        'C101 elephant key: unknown key "elephant" => valid keys: timeout, path, kebab-key',
        'C103 (root) key: the key "timeout" is missing in this file',
      ],
      [
        { pth: 1 },
        'C101 pth key: unknown key "pth" => did you mean "path"?',
        'C103 (root) key: the key "timeout" is missing in this file',
      ],
    ] as const)
      t.strictSame(problemsOf(schema, value).toSorted(), problems, JSON.stringify(value))
    const names = Type.Object(
      {},
      {
        patternProperties: { '^[a-z]+$': Type.String() },
        additionalProperties: false,
        'x-keys': 'a name in lower case',
      },
    )
    t.strictSame(problemsOf(Type.Object({ names }), { names: { ok: 'x', Bad: 'y' } }), [
      'C105 names.Bad key: "Bad" is not a name in lower case',
    ])
    const open = Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: true })
    t.strictSame(problemsOf(open, { b: 1 }), [])
    t.strictSame(problemsOf(Type.Object({}, { 'x-is': 'x', 'x-path': true }), { b: 1 }), [
      'C101 b key: unknown key "b" => valid keys: ',
    ])
  },
)

t.test(
  'compileValidator() rejects unknown keys of objects inside lists and unions, and ignores inherited keys',
  async (t) => {
    const Closed = Type.Object({ a: Type.Optional(Type.String()) })
    const schema = Type.Object({
      any: Type.Optional(Type.Union([Type.Null(), Closed])),
      list: Type.Optional(Type.Array(Closed)),
    })
    t.match(problemsOf(schema, { any: { b: 1 } }), [/^C104 any value/, /^C101 any\.b key/])
    t.strictSame(problemsOf(schema, { list: [{}, { b: 1 }] }), [
      'C101 list.[1].b key: unknown key "b" => valid keys: a',
    ])
    t.strictSame(problemsOf(Type.Object({ a: Type.String() }), Object.create({ a: 'inherited' })), [
      'C103 (root) key: the key "a" is missing in this file',
    ])
  },
)

t.test('compileValidator() accepts any key in an object without listed keys', async (t) => {
  const schema = Type.Object({ free: Type.Unsafe<unknown>({ type: 'object' }) })
  t.strictSame(problemsOf(schema, { free: { a: 1 } }), [])
})

t.test('compileValidator() finds the first repeated item of a list', async (t) => {
  const unique = Type.Object({ list: Type.Array(Type.Unknown(), { uniqueItems: true }) })
  t.strictSame(problemsOf(unique, { list: ['a', { b: 1 }, 'c', { b: 1 }, 'a'] }), [
    'C106 list.[3] value: list contains this value twice => keep one',
  ])
  t.strictSame(problemsOf(unique, { list: ['1', 1] }), [])
  t.strictSame(
    problemsOf(Type.Object({ list: Type.Array(Type.Unknown(), { uniqueItems: false }) }), { list: [1, 1] }),
    [],
  )
})

t.test('compileValidator() requires exactly one of several keys', async (t) => {
  const one = Type.Unsafe<unknown>({
    type: 'object',
    properties: { path: { type: 'string' }, prefix: { type: 'string' } },
    oneOf: [{ required: ['path'] }, { required: ['prefix'] }],
  })
  const schema = Type.Object({ match: one })
  t.strictSame(problemsOf(schema, { match: { path: 'x' } }), [])
  for (const match of [{}, { path: 'x', prefix: 'y' }])
    t.strictSame(problemsOf(schema, { match }), [
      'C106 match value: match must have exactly one of path, prefix',
    ])
  t.strictSame(problemsOf(schema, { match: { pth: 'x' } }), [
    'C101 match.pth key: unknown key "pth" => did you mean "path"?',
  ])
  t.strictSame(problemsOf(schema, { match: 'x' }), [
    'C104 match value: match must be a map of keys, not a string',
  ])
  t.strictSame(problemsOf(schema, { match: ['x', 'y'] }), [
    'C104 match value: match must be a map of keys, not a list',
  ])
})

t.test(
  'compileValidator() reports the errors of the branches of a failed union, or of the union itself',
  async (t) => {
    const either = (...anyOf: readonly object[]) => Type.Object({ k: Type.Unsafe<unknown>({ anyOf }) })
    t.strictSame(problemsOf(either({ const: 'auto' }, { type: 'integer', minimum: 1 }), { k: 0 }), [
      'C102 k value: 0 is not auto => write auto',
    ])
    const workers = Type.Object({
      workers: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: 9 })], {
        'x-is': 'auto or a whole number from 1 to 9',
      }),
    })
    for (const [value, shown, hint = ''] of [
      [0, '0'],
      [10, '10'],
      [1.5, '1.5'],
      [true, 'true'],
      ['0', '"0"', ' => write 0 without quotes'],
      ['Auto', '"Auto"', ' => did you mean auto?'],
      [null, 'null', ' => write a value'],
      [[2], '[2]'],
    ] as const)
      t.strictSame(problemsOf(workers, { workers: value }), [
        `C102 workers value: workers must be auto or a whole number from 1 to 9, not ${shown}${hint}`,
      ])
    for (const value of ['auto', 1, 9]) t.strictSame(problemsOf(workers, { workers: value }), [])
    const when = { if: { type: 'string' }, else: { type: 'integer', minimum: 1 } }
    t.strictSame(problemsOf(Type.Object({ k: Type.Unsafe<unknown>(when) }), { k: 0 }), [
      'C106 k value: k must be at least 1',
    ])
    t.strictSame(
      problemsOf(Type.Object({ k: Type.Unsafe<unknown>({ not: { type: 'string' } }) }), { k: 'x' }),
      ['C106 k value: k must NOT be valid'],
    )
    const both = Type.Unsafe<unknown>({ oneOf: [{ type: 'string' }, { type: 'string' }] })
    t.match(problemsOf(Type.Object({ k: both }), { k: 'x' }), [
      /^C106 k value: k must have exactly one of , /,
    ])
  },
)

t.test('compileValidator() uses the explanation of the caller', async (t) => {
  const schema = Type.Object({ a: Type.Integer(), b: Type.Integer(), c: Type.Optional(Type.Integer()) })
  const explain: Explain = ({ error, path, value }) =>
    path[0] === 'a'
      ? { number: '199', message: `${error.keyword} of ${JSON.stringify(value)}`, hint: 'a hint' }
      : undefined
  t.strictSame(problemsOf(schema, { a: 'x', b: 'y' }, explain), [
    'P199 a value: type of "x" => a hint',
    'P104 b value: b must be a whole number, not a string',
  ])
  t.strictSame(problemsOf(schema, { a: 1, b: 1, d: 1 }, explain), [
    'P101 d key: unknown key "d" => valid keys: a, b, c',
  ])
})

t.test('compileValidator() reports one problem per location, and at most 50 of a kind', async (t) => {
  const short = Type.Object({ k: Type.String({ minLength: 3, pattern: '^[a-z]+$' }) })
  t.strictSame(problemsOf(short, { k: '' }), ['C106 k value: k is empty'])
  const many = Type.Object({ list: Type.Array(Type.Integer()) })
  const check = compileValidator(many, { letter: 'C' })
  const list = Array.from({ length: 60 }, () => 'x')
  let line = 0
  const found = check({ list }, () => ({ ...locationOf([], 'value'), file: 'a', line: ++line }))
  t.equal(found.length, 51)
  t.equal(found.at(-1)?.message, 'this file has 10 more problems with this code')
})

t.test('compileValidator() compiles a schema once, also for several validators', async (t) => {
  let compilations = 0
  const toJSON = () => {
    compilations += 1
    return { type: 'object' }
  }
  const schema = Object.defineProperty(Type.Object({}), 'toJSON', { value: toJSON })
  for (const letter of ['C', 'P'] as const)
    t.equal(compileValidator(schema, { letter })(1, locationOf)[0]?.code, `${letter}104`)
  t.equal(compilations, 1)
})
