import { join, relative, resolve } from 'node:path'
import t from 'tap'
import { readScopeCatalogue } from '../../../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { readPresets } from '../../../policy-engine/format/presets.ts'
import { loadPolicies } from '../../../policy-engine/load/load-policies.ts'
import { buildRouteTable } from '../../../policy-engine/match/route-table.ts'

const ROOT = findPackageRoot()
const catalogue = readScopeCatalogue({ file: join(ROOT, 'config', 'scopes.yaml') })
const shipped = loadPolicies({
  dir: join(ROOT, 'policies'),
  catalogue,
  upstreams: new Set(['learning-platform']),
  presets: readPresets(join(ROOT, 'config', 'presets.yaml')),
})

t.test('the shipped policies have no problems', async (t) => {
  t.strictSame(shipped.diagnostics, [])
  t.equal(new Set(shipped.routes.map((route) => route.policy)).size, 20)
  t.doesNotThrow(() => buildRouteTable(shipped.routes))
})

t.test('the shipped policies use exactly the resource scopes of the catalogue', async (t) => {
  const used = new Set(
    shipped.routes.flatMap((route) => [...(route.scopes?.all ?? []), ...(route.scopes?.any ?? [])]),
  )
  const resource = [...catalogue.values()]
    .filter((scope) => scope.sensitivity !== 'identity')
    .map((scope) => scope.name)
  t.equal(resource.length, 35)
  t.strictSame([...used].toSorted(), resource.toSorted())
})

t.test(
  'every shipped route requires one scope, read or write by its effect, and allows anonymous callers',
  async (t) => {
    for (const route of shipped.routes) {
      const family = route.path.split('/')[2]?.replaceAll('-', '_')
      const changes = !route.methods.includes('GET') || family === 'storage'
      t.strictSame(route.scopes, { all: [`${family}:${changes ? 'write' : 'read'}`], any: [] }, route.name)
      t.equal(route.anonymous, 'allow', route.name)
      t.equal(route.upstreamAuth, 'assertion', route.name)
    }
  },
)

t.test('every write scope of the catalogue has a route that changes data', async (t) => {
  for (const { name } of [...catalogue.values()].filter((scope) => scope.sensitivity === 'write')) {
    const changing = shipped.routes.filter(
      (route) => route.scopes?.all.includes(name) && !route.methods.includes('GET'),
    )
    t.ok(changing.length > 0, name)
  }
})

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: storage
owner: team-files
upstream: files
x-runbook: { anything: [goes, 1] }
defaults: { anonymous: deny, timeout: 120s }
routes:
  - name: upload
    match: { methods: [PUT, POST], path: "/api/storage/{bucket}/**" }
    scopes: { all: [courses:write], any: [openid, courses:read] }
    anonymous: challenge
    timeout: 250ms
    bodyLimit: 1MiB
    upstreamAuth: forward
    x-note: kept out
  - name: look
    match: { methods: [GET], path: /api/storage }
`

t.test('loadPolicies() fills in defaults and converts durations and sizes once', async (t) => {
  const dir = t.testdir({ 'storage.policy.yaml': POLICY })
  const { routes, diagnostics } = loadPolicies({ dir })
  t.strictSame(diagnostics, [])
  const [upload, look] = routes
  t.match(upload, {
    name: 'storage/upload',
    policy: 'storage',
    owner: 'team-files',
    methods: ['PUT', 'POST'],
    path: '/api/storage/{bucket}/**',
    scopes: { all: ['courses:write'], any: ['openid', 'courses:read'] },
    anonymous: 'challenge',
    upstream: 'files',
    timeoutMs: 250,
    bodyLimitBytes: 1_048_576,
    upstreamAuth: 'forward',
    source: { file: /storage\.policy\.yaml$/, line: 9, column: 5 },
  })
  t.match(look, { anonymous: 'deny', timeoutMs: 120_000, upstreamAuth: 'none' })
  t.equal(look?.scopes, undefined)
  t.equal(look?.bodyLimitBytes, undefined)
  t.ok(Object.isFrozen(upload) && Object.isFrozen(upload?.scopes?.all) && Object.isFrozen(routes))
})

t.test(
  'loadPolicies() returns the same hash for the same files at any path, and another hash for any change',
  async (t) => {
    const dir = t.testdir({
      one: { 'a.policy.yaml': POLICY },
      same: { 'a.policy.yaml': POLICY, 'README.md': 'not a policy' },
      renamed: { 'b.policy.yaml': POLICY },
      changed: { 'a.policy.yaml': `${POLICY}\n` },
    })
    const [one, same, renamed, changed] = ['one', 'same', 'renamed', 'changed'].map(
      (name) => loadPolicies({ dir: join(dir, name) }).hash,
    )
    t.match(one, /^[0-9a-f]{64}$/)
    t.equal(same, one)
    t.not(renamed, one)
    t.not(changed, one)
  },
)

t.test('loadPolicies() reads a mounted ConfigMap, in which the files are links to ..data', async (t) => {
  const dir = t.testdir({
    '..2026_01_01': { 'a.policy.yaml': POLICY },
    '..data': t.fixture('symlink', '..2026_01_01'),
    'a.policy.yaml': t.fixture('symlink', join('..data', 'a.policy.yaml')),
  })
  t.equal(loadPolicies({ dir }).routes.length, 2)
})

t.test('loadPolicies() warns about paths that differ only in case, and loads them', async (t) => {
  const more = '  - name: shout\n    match: { methods: [GET], path: /API/storage }\n'
  const { routes, diagnostics } = loadPolicies({ dir: t.testdir({ 'a.policy.yaml': POLICY + more }) })
  t.match(diagnostics, [
    { code: 'P305', severity: 'warning', location: { line: 20 }, related: [{ location: { line: 18 } }] },
  ])
  t.equal(routes.length, 3)
})

t.test('loadPolicies() reads equal file names in two folders', async (t) => {
  const other = POLICY.replace('name: storage', 'name: files').replaceAll('/api/storage', '/api/files')
  const dir = t.testdir({ one: { 'team.policy.yaml': POLICY }, two: { 'team.policy.yaml': other } })
  const { routes, diagnostics } = loadPolicies({ dir })
  t.strictSame(diagnostics, [])
  t.same(
    routes.map(({ name, source }) => [name, relative(dir, resolve(source.file))]),
    [
      ['storage/upload', 'one/team.policy.yaml'],
      ['storage/look', 'one/team.policy.yaml'],
      ['files/upload', 'two/team.policy.yaml'],
      ['files/look', 'two/team.policy.yaml'],
    ],
  )
})

t.test('loadPolicies() reports a policy name in two folders with both files', async (t) => {
  const dir = t.testdir({ one: { 'a.policy.yaml': POLICY }, two: { 'a.policy.yaml': POLICY } })
  const { routes, diagnostics } = loadPolicies({ dir })
  t.strictSame(routes, [])
  t.match(
    diagnostics.find(({ code }) => code === 'P303'),
    {
      location: { file: /two\/a\.policy\.yaml$/, line: 3 },
      related: [{ location: { file: /one\/a\.policy\.yaml$/, line: 3 } }],
    },
  )
})

t.test('loadPolicies() reads the tests in nested folders', async (t) => {
  const tests = `apiVersion: scopegate/v1\nkind: PolicyTest\npolicy: storage\ntests:\n  - it: denies\n    request: { method: GET, path: /api/storage }\n    expect: { decision: deny }\n`
  const dir = t.testdir({ team: { 'a.policy.yaml': POLICY, 'a_test.yaml': tests, 'b.yaml': '{}\n' } })
  const loaded = loadPolicies({ dir, withTestFiles: true })
  t.match(loaded.diagnostics, [{ code: 'P006', location: { file: /team\/b\.yaml$/ } }])
  t.match(loaded.tests, [{ it: 'denies', source: { file: /team\/a_test\.yaml$/ } }])
})
