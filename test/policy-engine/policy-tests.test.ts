import t from 'tap'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: courses
upstream: api
routes:
  - { name: read-course, match: { methods: [GET], path: "/api/courses/{id}" },
      anonymous: allow,
      scopes: { all: [courses:read] } }
tests:
  - it: reads a course
    request: { method: GET, path: "/api/courses/42?view=full", headers: { X-School-Id: s1 } }
    token: { scope: "courses:read", school_id: s1, __proto__: { admin: true } }
    expect: { decision: allow, as: token, route: read-course, upstreamPath: /api/courses/42, x-note: ours }
  - it: asks for a scope
    request: { method: GET, path: /api/courses/42 }
    token: {}
    expect: { decision: deny, status: 403, error: insufficient_scope, missing: [courses:read] }
`

const TABLE = `apiVersion: scopegate/v1
kind: PolicyTest
policy: courses
tests:
  - it: serves anybody
    request: { method: GET, path: /api/courses/42 }
    expect: { decision: allow, as: anonymous }
`

function problems(files: Record<string, string>) {
  const dir = t.testdir(files)
  const { tests, routes, diagnostics } = loadPolicies({ dir, withTestFiles: true })
  return {
    tests,
    routes,
    codes: diagnostics.map(({ code, location, hint }) => [code, location.line, location.column, hint]),
  }
}

t.test('loadPolicies() reports each problem of a test with its location', async (t) => {
  const broken = POLICY.replace('decision: allow', 'decision: alow')
    .replace('method: GET, path: /api/courses/42 }', 'method: FETCH, path: courses }')
    .replace('token: {}', 'token: courses:read')
  const { tests, routes, codes } = problems({ 'courses.policy.yaml': broken })
  t.strictSame(codes, [
    ['P102', 13, 25, 'did you mean "allow"?'],
    ['P102', 15, 24, 'did you mean "PATCH"?'],
    ['P105', 15, 37, undefined],
    ['P104', 16, 12, 'a key needs a space after its colon'],
  ])
  t.strictSame([tests, routes], [[], []])
})

t.test('a test file must name a policy of the folder', async (t) => {
  const { tests, codes } = problems({
    'courses.policy.yaml': POLICY,
    'courses_test.yaml': TABLE.replace('policy: courses', 'policy: course'),
    'empty_test.yaml': '',
    'other_test.yaml': 'tests: 1\n',
  })
  t.strictSame(codes.slice(0, 2), [
    ['P205', 3, 9, 'did you mean "courses"?'],
    ['P002', undefined, undefined, undefined],
  ])
  t.ok(codes.slice(2).every(([code]) => code === 'P103' || code === 'P104'))
  t.strictSame(tests, [])
})

t.test('the gateway does not read test files', async (t) => {
  const dir = t.testdir({ 'courses.policy.yaml': POLICY, 'courses_test.yaml': 'broken: [' })
  const { tests, routes, diagnostics } = loadPolicies({ dir })
  t.strictSame(diagnostics, [])
  t.equal(routes.length, 1)
  t.equal(tests.length, 2)
})

t.test(
  'loadPolicies() returns the tests of policies and of separate files, with their locations',
  async (t) => {
    const { tests, codes } = problems({ 'courses.policy.yaml': POLICY, 'courses_test.yaml': TABLE })
    t.strictSame(codes, [])
    const [reads, asks, anybody] = tests
    t.equal(tests.length, 3)
    t.equal(reads?.policy, 'courses')
    t.strictSame(reads?.request.headers['x-school-id'], 's1')
    t.strictSame(Object.keys(reads?.token ?? {}), ['scope', 'school_id', '__proto__'])
    t.equal(Reflect.get(Object.getPrototypeOf(reads?.token ?? {}) ?? {}, 'admin'), undefined)
    t.match(reads?.expect, { decision: 'allow', as: 'token', upstreamPath: '/api/courses/42' })
    t.notOk('x-note' in (reads?.expect ?? {}))
    t.strictSame(asks?.token, {})
    t.strictSame(asks?.expect.missing, ['courses:read'])
    t.equal(anybody?.token, undefined)
    t.match(anybody?.source, { file: /courses_test\.yaml$/, line: 5, column: 5 })
    t.ok(Object.isFrozen(reads) && Object.isFrozen(reads?.token) && Object.isFrozen(reads?.request.headers))
  },
)
