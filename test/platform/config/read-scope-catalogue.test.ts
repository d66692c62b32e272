import { join } from 'node:path'
import t from 'tap'
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
        { code: 'C105', place: { line: 2 } },
        { code: 'C105', place: { line: 3 } },
        { code: 'C102', place: { line: 4 }, hint: 'did you mean "write"?' },
      ],
    )
    const twice = join(
      t.testdir({ 'scopes.yaml': `scopes:\n${scope('a')}${scope('b')}${scope('a')}` }),
      'scopes.yaml',
    )
    t.match(
      diagnosticsOf(() => readScopeCatalogue({ file: twice })),
      [{ code: 'C201', place: { line: 4, column: 13 }, related: [{ place: { line: 2 } }] }],
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
      { code: 'C202', place: { line: 3 }, hint: 'did you mean "courses:read"?' },
      { code: 'C202', place: { line: 3 }, hint: 'list it too, or leave it out' },
    ])
    t.match(diagnosticsFor(scope('a', 'a')), [
      { code: 'C203', place: { line: 2 }, message: '"a" implies itself' },
    ])
    t.match(diagnosticsFor(scope('a', 'b') + scope('b', 'c') + scope('c', 'a') + scope('d', 'a')), [
      { code: 'C203', place: { line: 2 }, message: '"a" implies "b", which implies "a"' },
      { code: 'C203', place: { line: 3 } },
      { code: 'C203', place: { line: 4 } },
    ])
    t.match(diagnosticsFor(plain + scope('courses:write', '')), [{ code: 'C106', place: { line: 3 } }])
    t.match(diagnosticsFor(plain + scope('a', 'courses:read, courses:read')), [
      { code: 'C106', place: { line: 3 } },
    ])
    const file = join(
      t.testdir({ 'scopes.yaml': `scopes:\n${scope('courses:write', 'courses:read')}${plain}` }),
      'scopes.yaml',
    )
    t.same(readScopeCatalogue({ file }).get('courses:write')?.implies, ['courses:read'])
  },
)

t.test(
  'the shipped catalogue holds the 38 scopes of docs/interface.md, each with a description',
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
