import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readScopeCatalogue } from '../../../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { diagnosticsOf } from '../../fixtures/diagnostics-of.ts'

t.test(
  'readScopeCatalogue() reports invalid names, duplicate scopes and unknown kinds together',
  async (t) => {
    const scope = (name: string, sensitivity = 'read') =>
      `  - { name: ${name}, description: d, group: g, sensitivity: ${sensitivity} }\n`
    const file = join(
      t.testdir({ 'scopes.yaml': `scopes:\n${scope('"a b"')}${scope('é')}${scope('c', 'wirte')}` }),
      'scopes.yaml',
    )
    t.match(
      diagnosticsOf(() => readScopeCatalogue({ file })),
      [
        { code: 'C105', location: { line: 2 } },
        { code: 'C105', location: { line: 3 } },
        { code: 'C102', location: { line: 4 }, hint: 'did you mean "write"?' },
      ],
    )
    const twice = join(
      t.testdir({ 'scopes.yaml': `scopes:\n${scope('a')}${scope('b')}${scope('a')}` }),
      'scopes.yaml',
    )
    t.match(
      diagnosticsOf(() => readScopeCatalogue({ file: twice })),
      [{ code: 'C201', location: { line: 4, column: 13 }, related: [{ location: { line: 2 } }] }],
    )
  },
)

t.test(
  'readScopeCatalogue() reports unknown implied scopes and cycles, each with its location',
  async (t) => {
    const scope = (name: string, implies: string) =>
      `  - { name: ${name}, description: d, group: g, sensitivity: read, implies: [${implies}] }\n`
    const plain = '  - { name: courses:read, description: d, group: g, sensitivity: read }\n'
    const diagnosticsFor = (text: string) => {
      const file = join(t.testdir({ 'scopes.yaml': `scopes:\n${text}` }), 'scopes.yaml')
      return diagnosticsOf(() => readScopeCatalogue({ file }))
    }
    t.match(diagnosticsFor(plain + scope('courses:write', 'course:read, nothing')), [
      { code: 'C202', location: { line: 3 }, hint: 'did you mean "courses:read"?' },
      { code: 'C202', location: { line: 3 }, hint: 'define the scope, or remove it from implies' },
    ])
    t.match(diagnosticsFor(scope('a', 'a')), [
      { code: 'C203', location: { line: 2 }, message: '"a" implies itself' },
    ])
    t.match(diagnosticsFor(scope('a', 'b') + scope('b', 'c') + scope('c', 'a') + scope('d', 'a')), [
      { code: 'C203', location: { line: 2 }, message: '"a" implies "b", which implies "a"' },
      { code: 'C203', location: { line: 3 } },
      { code: 'C203', location: { line: 4 } },
    ])
    t.match(diagnosticsFor(plain + scope('courses:write', '')), [{ code: 'C106', location: { line: 3 } }])
    t.match(diagnosticsFor(plain + scope('a', 'courses:read, courses:read')), [
      { code: 'C106', location: { line: 3 } },
    ])
    const file = join(
      t.testdir({ 'scopes.yaml': `scopes:\n${scope('courses:write', 'courses:read')}${plain}` }),
      'scopes.yaml',
    )
    t.same(readScopeCatalogue({ file }).get('courses:write')?.implies, ['courses:read'])
  },
)

t.test(
  'the shipped catalogue contains the 38 scopes of docs/interface.md, each with a description',
  async (t) => {
    const catalogue = readScopeCatalogue({ file: join(findPackageRoot(), 'config', 'scopes.yaml') })
    const both = (family: string) => [`${family}:read`, `${family}:write`]
    t.strictSame(
      [...catalogue.keys()],
      [
        ...['openid', 'profile', 'email'],
        ...['courses', 'students', 'members'].flatMap(both),
        'analytics:read',
        ...both('curriculum'),
        'orders:read',
        ...[
          'school',
          'appearance',
          'events',
          'membership_plans',
          'coupons',
          'posts',
          'subscriptions',
          'digital_products',
        ].flatMap(both),
        'comments:read',
        ...both('lecturers'),
        ...['storage:write', 'forms:read'],
        ...both('pages'),
        ...both('account'),
      ],
    )
    t.equal(catalogue.size, 38)
    for (const { name, description, sensitivity } of catalogue.values()) {
      t.match(description, /^[A-Z].{8,}[^.]$/, name)
      t.equal(
        sensitivity,
        name.endsWith(':write') ? 'write' : name.endsWith(':read') ? 'read' : 'identity',
        name,
      )
    }
  },
)

/** Returns one text for each diagnostic of a catalogue: severity, code, location, message, hint, related locations. */
function problemsOf(t: Test, text: string): readonly string[] {
  const file = join(t.testdir({ 'scopes.yaml': text }), 'scopes.yaml')
  return diagnosticsOf(() => readScopeCatalogue({ file })).map(
    ({ code, severity, location, message, hint, related }) =>
      [
        `${severity} ${code} ${location.line}:${location.column}:${location.length} ${message} (${hint})`,
        ...related.map((one) => `${one.location.line}:${one.location.column} ${one.message}`),
      ].join(' | '),
  )
}
const scopes = (...lines: readonly string[]): string =>
  `scopes:\n${lines.map((line) => `  - ${line}\n`).join('')}`

t.test('readScopeCatalogue() explains each problem and its remedy', async (t) => {
  const rest = 'description: d, group: g, sensitivity: read'
  for (const [text, ...expected] of [
    [
      scopes(`{ name: a, ${rest} }`, `{ name: b, ${rest} }`, `{ name: a, ${rest} }`, `{ name: a, ${rest} }`),
      'error C201 4:13:1 the scope "a" is listed twice (keep one) | 2:13 the first definition',
      'error C201 5:13:1 the scope "a" is listed twice (keep one) | 2:13 the first definition',
    ],
    [
      scopes(`{ name: courses, ${rest} }`, `{ name: b, ${rest}, implies: [courses, cuorses, elephant] }`),
      'error C202 3:80:7 "b" implies "cuorses", which this file does not define (did you mean "courses"?)',
      'error C202 3:89:8 "b" implies "elephant", which this file does not define (define the scope, or remove it from implies)',
    ],
    [
      scopes(
        `{ name: a, ${rest}, implies: [a] }`,
        `{ name: b, ${rest}, implies: [c] }`,
        `{ name: c, ${rest}, implies: [b] }`,
      ),
      'error C203 2:71:1 "a" implies itself (remove implies from the narrower scope)',
      'error C203 3:71:1 "b" implies "c", which implies "b" (remove implies from the narrower scope)',
      'error C203 4:71:1 "c" implies "b", which implies "c" (remove implies from the narrower scope)',
    ],
    [
      scopes('{}'),
      'error C103 2:5:2 the key "name" is missing in scopes[0] (the name of the scope)',
      'error C103 2:5:2 the key "description" is missing in scopes[0] (the permission in plain words)',
      'error C103 2:5:2 the key "group" is missing in scopes[0] (heading of the scope on the consent page)',
      'error C103 2:5:2 the key "sensitivity" is missing in scopes[0] (kind of access: identity, read or write)',
    ],
    [
      scopes('{ name: "a b", description: "", group: "", sensitivity: none, implies: [] }'),
      'error C105 2:13:5 "a b" is not a scope name: printable ASCII without spaces, quotes and backslashes (undefined)',
      'error C106 2:33:2 scopes[0].description is empty (undefined)',
      'error C106 2:44:2 scopes[0].group is empty (undefined)',
      'error C102 2:61:4 "none" is not one of identity, read, write (undefined)',
      'error C106 2:76:2 scopes[0].implies is empty (undefined)',
    ],
    [
      scopes(
        `{ name: a, ${rest}, implies: [""] }`,
        `{ name: b, ${rest}, implies: [a, a] }`,
        `{ name: c, ${rest}, more: 1 }`,
      ),
      'error C101 4:61:4 unknown key "more" (valid keys: name, description, group, sensitivity, implies)',
      'error C106 2:71:2 scopes[0].implies[0] is empty (undefined)',
      'error C106 3:74:1 scopes[1].implies contains this value twice (keep one)',
    ],
    ['scopes: []\n', 'error C106 1:9:2 scopes is empty (undefined)'],
    [
      '{}\n',
      'error C103 1:1:2 the key "scopes" is missing in this file (all scopes, in the order of the consent page)',
    ],
    ['scopes: [\n', 'error C014 1:9:1 this [ is never closed (add ])'],
    ['', 'error C002 undefined:undefined:1 the file is empty (undefined)'],
  ] as const)
    t.strictSame(problemsOf(t, text).toSorted(), expected.toSorted(), text)
})

t.test('readScopeCatalogue() accepts names and texts up to their limits', async (t) => {
  const line = (name: number, description: number, group: number): string =>
    `{ name: ${'n'.repeat(name)}, description: ${'d'.repeat(description)}, group: ${'g'.repeat(group)}, sensitivity: write }`
  t.strictSame(problemsOf(t, scopes(line(256, 256, 64))), [])
  t.strictSame(
    problemsOf(t, scopes(line(257, 257, 65))).map((one) => one.replace(/^error C106 \S+ /, '')),
    [
      'scopes[0].name has more than 256 characters (undefined)',
      'scopes[0].description has more than 256 characters (undefined)',
      'scopes[0].group has more than 64 characters (undefined)',
    ],
  )
  const long = (length: number): string =>
    `{ name: a, description: d, group: g, sensitivity: read, implies: [${'i'.repeat(length)}] }`
  t.match(problemsOf(t, scopes(long(256))), [/C202/])
  t.match(problemsOf(t, scopes(long(257))), [/C106 .*implies\[0\] has more than 256 characters/])
  for (const name of ['"!"', '"#"', '"["', '"]"', '"~"', 'a:b.c/d'])
    t.strictSame(
      problemsOf(t, scopes(`{ name: ${name}, description: d, group: g, sensitivity: read }`)),
      [],
      name,
    )
  for (const name of ["'\"'", "'\\'", '" "', '"\\x7f"', '"a\\n"', '"\\na"'])
    t.match(
      problemsOf(t, scopes(`{ name: ${name}, description: d, group: g, sensitivity: read }`)),
      [/C105/],
      name,
    )
})

t.test(
  'readScopeCatalogue() returns frozen scopes in the order of the file, from a given source',
  async (t) => {
    const catalogue = readScopeCatalogue({
      file: '/nowhere',
      source: {
        text: scopes(
          '{ name: b, description: d, group: g, sensitivity: write, implies: [a] }',
          '{ name: a, description: e, group: h, sensitivity: read }',
        ),
      },
    })
    t.strictSame(
      [...catalogue].map(([name, scope]) => [name, { ...scope }]),
      [
        ['b', { name: 'b', description: 'd', group: 'g', sensitivity: 'write', implies: ['a'] }],
        ['a', { name: 'a', description: 'e', group: 'h', sensitivity: 'read' }],
      ],
    )
    for (const scope of catalogue.values()) t.ok(Object.isFrozen(scope))
    t.strictSame(
      diagnosticsOf(() => readScopeCatalogue({ file: '/nowhere' })).map(({ location, message }) => [
        location.file,
        message,
      ]),
      [['/nowhere', 'the file does not exist']],
    )
  },
)
