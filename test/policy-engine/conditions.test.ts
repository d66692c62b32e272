import fc from 'fast-check'
import t from 'tap'
import { compileCondition, compileGlob } from '../../policy-engine/decide/compile-condition.ts'
import { readNamedClaims } from '../../policy-engine/decide/named-claims.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'
import type { ConditionTest } from '../../policy-engine/load/policy-route.ts'
import { readOperand } from '../../policy-engine/load/read-operand.ts'
import { findHeader } from '../../policy-engine/match/find-header.ts'

const SOURCE = { file: 'a.policy.yaml', line: 1, column: 1 }

type Sent = {
  readonly params?: Record<string, string>
  readonly query?: string
  readonly headers?: readonly string[]
}

/** Returns whether a condition holds for a token with these claims and a request with these values. */
function holds(claim: string, test: ConditionTest, claims: unknown, sent: Sent = {}): boolean {
  const { params = {}, query = '', headers = [] } = sent
  const named = readNamedClaims(new Map(Object.entries(claims ?? {})), [claim])
  return compileCondition({ claim, test, source: SOURCE }).holds(named, {
    params,
    query,
    header: (name) => findHeader(headers, name),
  })
}

const school = (claims: unknown, sent: Sent) =>
  holds('school', { equals: { from: 'header', name: 'x-school' } }, claims, sent)

t.test('a condition on a missing or repeated request value is false', async (t) => {
  t.notOk(school({ school: 's1' }, {}))
  t.notOk(school({ school: 's1' }, { headers: ['X-School', 's1', 'x-school', 's1'] }))
  t.notOk(school({ school: 's1' }, { headers: ['X-School', 's1', 'X_School', 's2'] }))
  t.notOk(school({ school: 's1' }, { headers: ['X_School', 's1'] }))
  t.notOk(school({ school: '' }, {}), 'a missing value differs from the empty text')
  t.notOk(school({}, { headers: ['x-school', ''] }))
  t.notOk(school({}, { headers: ['x-school', 'undefined'] }))
  t.notOk(school({ school: null }, { headers: ['x-school', 'null'] }))
  t.ok(school({ school: 's1' }, { headers: ['X-School', 's1'] }))
})

t.test('a number outside the safe integer range equals no value', async (t) => {
  const limit = Number.MAX_SAFE_INTEGER
  t.ok(holds('tenant', { equals: limit }, JSON.parse(`{"tenant":${limit}}`)))
  t.notOk(holds('tenant', { equals: 2 ** 53 }, JSON.parse('{"tenant":9007199254740993}')))
  t.notOk(holds('tenant', { in: [2 ** 53] }, JSON.parse('{"tenant":[9007199254740993,-1e300]}')))
  t.notOk(holds('tenant', { in: [-(2 ** 53)] }, JSON.parse('{"tenant":-9007199254740993}')))
  t.ok(holds('tenant', { exists: true }, JSON.parse('{"tenant":9007199254740993}')), 'the claim exists')
  t.match(problems('{ claim: s, equals: 9007199254740993 }'), [/^P106 10:29 .*at most 9007199254740991/])
  t.match(problems('{ claim: s, in: [-9007199254740993] }'), [/^P106 10:26 .*at least -9007199254740991/])
  t.strictSame(problems('{ claim: s, equals: 9007199254740991 }'), [])
})

t.test('a query parameter that servers interpret in different ways has no value', async (t) => {
  const test: ConditionTest = { equals: { from: 'query', name: 'school' } }
  const at = (query: string) => holds('school', test, { school: 's1' }, { query })
  t.ok(at('?school=s1'))
  t.ok(at('?a=b&%73chool=s%31&c'))
  t.ok(at('?school=s1&schools=s2&myschool=s3'))
  for (const query of [
    '',
    '?',
    '?school',
    '?school=s2',
    '?school=s1&school=s1',
    '?school=s1&school=s2',
    '?school=s1;school=s2',
    '?a=b;school=s2&school=s1',
    '?school=s1&School=s2',
    '?school=s1&school[]=s2',
    '?school=s1&school[0]=s2',
    '?school=s1&%20school=s2',
    '?school=s1&school%00x=s2',
    '?school=s1&%73chool=s2',
    '?school=s1%00',
    '?school=%ff',
    '?%school=s1',
  ])
    t.notOk(at(query), query)
  t.notOk(holds('a_b', { equals: { from: 'query', name: 'a_b' } }, { a_b: '1' }, { query: '?a_b=1&a.b=2' }))
  t.ok(holds('name', { equals: { from: 'query', name: 'name' } }, { name: 'a b' }, { query: '?name=a+b' }))
})

t.test('a path parameter is decoded once', async (t) => {
  const test: ConditionTest = { equals: { from: 'path', name: 'id' } }
  const at = (id: string, claim: unknown) => holds('id', test, { id: claim }, { params: { id } })
  t.ok(at('a%20b', 'a b'))
  t.ok(at('%C3%A9', 'é'))
  t.ok(at('a%252Fb', 'a%2Fb'))
  t.notOk(at('a%252Fb', 'a/b'))
  t.notOk(at('a%20b', 'a%20b'))
  t.notOk(at('A', 'a'))
  t.notOk(at('42', 42), 'path values are text')
})

t.test('a text equals only texts, and a number equals only numbers', async (t) => {
  t.notOk(holds('level', { equals: 1 }, { level: '1' }))
  t.notOk(holds('level', { equals: '1' }, { level: 1 }))
  t.notOk(holds('level', { equals: true }, { level: 'true' }))
  t.notOk(holds('level', { equals: 0 }, { level: false }))
  t.notOk(holds('level', { equals: '' }, { level: [] }))
  t.ok(holds('level', { equals: 1 }, { level: 1 }))
  t.ok(holds('level', { in: ['a', 2] }, { level: 2 }))
  t.notOk(holds('level', { matches: '*' }, { level: 1 }))
  t.notOk(holds('level', { matches: '*' }, {}))
})

t.test('members of Object.prototype are not claims', async (t) => {
  for (const claim of [
    '__proto__',
    'constructor',
    'toString',
    '/a/constructor',
    '/a/__proto__',
    '/constructor/name',
    '/a/length',
  ]) {
    t.notOk(holds(claim, { exists: true }, JSON.parse('{"a":{"b":1},"list":[1]}')), claim)
    t.ok(holds(claim, { exists: false }, JSON.parse('{"a":{"b":1},"list":[1]}')), claim)
  }
  t.notOk(holds('/list/length', { exists: true }, { list: [1] }))
  const own = JSON.parse('{"__proto__":"admin","a":{"__proto__":"admin","constructor":"x"}}')
  t.ok(holds('__proto__', { equals: 'admin' }, own), 'unless the token contains the claim')
  t.ok(holds('/a/__proto__', { equals: 'admin' }, own))
  t.ok(holds('/a/constructor', { equals: 'x' }, own))
})

t.test(
  'a claim that is too large or is an object satisfies `exists: true`, and equals no value',
  async (t) => {
    const long = 'x'.repeat(2_000)
    for (const [value, test] of [
      [long, { equals: long }],
      [long, { matches: '*' }],
      [{ a: 1 }, { matches: '*' }],
      [[long], { matches: '*' }],
      [[{ a: 1 }, ['b']], { in: ['b', 'a'] }],
      [[], { matches: '*' }],
      [Array.from({ length: 1_000 }, (_, index) => index), { equals: 999 }],
      [[...Array.from({ length: 20 }, () => 'x'.repeat(1_000)), 'last'], { equals: 'last' }],
    ] as const) {
      t.notOk(holds('c', test, { c: value }))
      t.ok(holds('c', { exists: true }, { c: value }))
      t.notOk(holds('c', { exists: false }, { c: value }), 'the claim exists')
    }
  },
)

t.test('a list satisfies a condition when one of its members does', async (t) => {
  t.ok(holds('roles', { equals: 'editor' }, { roles: ['reader', 'editor'] }))
  t.ok(holds('roles', { matches: 'ed*' }, { roles: [1, 'editor'] }))
  t.notOk(holds('roles', { equals: 'editor' }, { roles: ['reader, editor'] }))
  t.notOk(holds('roles', { equals: '1' }, { roles: [1] }))
  t.ok(holds('/realm_access/roles', { equals: 'editor' }, { realm_access: { roles: ['editor'] } }))
  t.ok(holds('/a~1b/~0/1', { equals: 'x' }, { 'a/b': { '~': ['w', 'x'] } }))
  t.ok(holds('https://a.test/roles', { equals: 'x' }, { 'https://a.test/roles': 'x' }))
})

t.test('a claim that was not selected satisfies no condition, not even `exists: false`', async (t) => {
  const request = { params: {}, query: '', header: () => undefined }
  const condition = compileCondition({ claim: 'a', test: { exists: false }, source: SOURCE })
  t.notOk(condition.holds(new Map(), request))
  t.ok(condition.holds(new Map([['a', undefined]]), request))
})

t.test('compileGlob() agrees with a reference implementation and runs in bounded time', async (t) => {
  const slowly = (pattern: string, text: string): boolean => {
    if (pattern === '') return text === ''
    if (pattern[0] !== '*') return text[0] === pattern[0] && slowly(pattern.slice(1), text.slice(1))
    return Array.from({ length: text.length + 1 }).some((_, at) => slowly(pattern.slice(1), text.slice(at)))
  }
  const of = (...signs: readonly string[]) => fc.string({ unit: fc.constantFrom(...signs), maxLength: 7 })
  fc.assert(
    fc.property(of('a', 'b', '*', '.'), of('a', 'b', '.'), (pattern, text) =>
      t.equal(compileGlob(pattern)(text), slowly(pattern, text), `${pattern} ${text}`),
    ),
    { numRuns: 500 },
  )
  t.notOk(compileGlob(`${'a*'.repeat(128)}b`)('a'.repeat(1_024)))
})

t.test('readOperand() reads text in braces as a request value or reports a mistake', async (t) => {
  t.strictSame(readOperand('{header.X-School}'), { from: 'header', name: 'x-school' })
  t.strictSame(readOperand('{query.a[b]}'), { from: 'query', name: 'a[b]' })
  t.strictSame(['s1', 1, 'a{b', 'a.{b}.c', ''].map(readOperand), ['s1', 1, 'a{b', 'a.{b}.c', ''])
  for (const text of [
    '{id}',
    '{claims.x}',
    '{path}',
    '{path.}',
    'a-{path.id}',
    '{header.x_y}',
    '{path.a b}',
    '{path.a}{path.b}',
  ])
    t.ok(Object.hasOwn(Object(readOperand(text)), 'problem'), text)
})

function problems(when: string, more = 'anonymous: deny, ') {
  const dir = t.testdir({
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: api
routes:
  - name: r
    match: { methods: [GET], path: "/a/{school}/{id}" }
    ${more.replace(', ', '')}
    when:
      - ${when}
`,
  })
  return loadPolicies({ dir }).diagnostics.map(
    ({ code, severity, location, message, hint }) =>
      `${severity === 'error' ? '' : `${severity} `}${code} ${location.line}:${location.column} ${message} (${hint})`,
  )
}

t.test('loadPolicies() rejects values that no request contains', async (t) => {
  t.match(problems('{ claim: s, equals: "{path.schol}" }'), [/^P203 10:29 .*did you mean {path.school}/])
  t.match(problems('{ claim: s, in: [a, "{path.x}"] }'), [/^P203 10:29 .*it has {path.school}, {path.id}/])
  t.match(problems('{ claim: s, equals: "{header.x-auth-subject}" }'), [/^P312 10:29 /])
  t.match(problems('{ claim: s, equals: "{header.Authorization}" }'), [/^P312 10:29 .*credentials/])
  t.match(problems('{ claim: s, equals: "x-{path.id}" }'), [/^P110 10:29 /])
  t.match(problems('{ claim: s, equals: "{id}" }'), [/^P110 10:29 /])
  t.match(problems('{ claim: s, matches: "{path.id}" }'), [/^P110 10:30 .*equals/])
})

t.test('loadPolicies() rejects invalid conditions', async (t) => {
  t.match(problems('{ claim: s }'), [/^P106 .*exactly one of equals, in, matches, exists/])
  t.match(problems('{ claim: s, equals: a, exists: true }'), [/^P106 .*exactly one of/])
  t.match(problems('{ claim: s, equal: a }'), [/^P101 .*did you mean "equals"/])
  t.match(problems('{ claim: s, in: [] }'), [/^P106 .*empty/])
  t.match(problems('{ claim: s, equals: null }'), [/^P104 /])
  t.match(problems('{ claim: s, equals: [a] }'), [/^P104 /])
  t.match(problems('{ claim: /a~b, exists: true }'), [/^P105 .*JSON pointer/])
  t.match(problems('{ equals: a }'), [/^P103 .*claim/])
  t.match(problems('exists'), [/^P104 /])
})

t.test('loadPolicies() finds conditions that deny every caller', async (t) => {
  t.match(problems('{ claim: s, exists: true }', ''), [/^P308 9:5 .*anonymous: challenge/])
  t.match(problems('{ claim: s, exists: false }\n      - { claim: s, equals: a }'), [
    /^P309 11:9 .*exclude each other/,
  ])
  t.match(problems('{ claim: s, equals: a }\n      - { claim: s, equals: b }'), [/^warning P309 11:9 .*list/])
  t.match(problems('{ claim: s, in: [a, 1] }\n      - { claim: s, matches: "b*" }'), [/^warning P309/])
  t.strictSame(problems('{ claim: s, in: [a, b] }\n      - { claim: s, equals: b }'), [])
  t.strictSame(problems('{ claim: s, equals: a }\n      - { claim: s, equals: "{path.id}" }'), [])
  t.strictSame(problems('{ claim: s, exists: true }\n      - { claim: s, matches: "a*" }'), [])
})
