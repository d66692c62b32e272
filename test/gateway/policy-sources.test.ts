import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fetchLivePolicies } from '../../cli/live-policies.ts'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { simulate } from '../../gateway/simulate/simulate.ts'
import type { PolicySource } from '../../policy-engine/load/source-permissions.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const policyOf = (name: string, path: string, more = '') =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: api\nroutes:\n  - name: all\n    match: { methods: [GET], path: "${path}" }\n    anonymous: allow\n${more}`
const BILLING = policyOf('invoices', '/api/billing/**')
const COURSES = policyOf('catalog', '/api/courses/**')

type Folders = { readonly root: string; write(source: string, text: string, file?: string): void }

function makeFolders(t: Test): Folders {
  // A separate folder, because the gateway under test replaces `t.testdir()` at each start.
  const root = mkdtempSync(join(tmpdir(), 'scopegate-sources-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  for (const name of ['courses', 'billing', 'data']) mkdirSync(join(root, name))
  return {
    root,
    write: (source, text, file = 'team.policy.yaml') => writeFileSync(join(root, source, file), text),
  }
}

function sourcesIn(root: string): readonly PolicySource[] {
  const permissions = (prefix: string) => ({
    pathPrefixes: [prefix],
    upstreams: ['api'],
    addresses: [],
    scopes: ['courses:*'],
    anonymous: true,
    forwardCredentials: false,
  })
  return ['courses', 'billing'].map((name) => ({
    name,
    folder: join(root, name),
    owner: `team-${name}`,
    permissions: permissions(`/api/${name}`),
  }))
}

function start(
  t: Test,
  { root }: Folders,
  change: (config: GatewayConfig) => GatewayConfig = (config) => config,
): Promise<GatewayUnderTest> {
  return startGatewayUnderTest(t, {
    change: (config) =>
      change({
        ...config,
        policiesDir: '',
        policySources: sourcesIn(root),
        onInvalidPolicy: 'keep',
        dataDir: join(root, 'data'),
      }),
  })
}

const statusOf = async ({ gateway }: GatewayUnderTest, path: string) =>
  (await send(`${gateway.url}${path}`)).status
const textOf = async ({ gateway }: GatewayUnderTest, path: string) =>
  (await send(`${gateway.managementUrl}${path}`)).text

t.test(
  'an invalid source keeps its version at a reload and after a restart, and other sources reload',
  async (t) => {
    const folders = makeFolders(t)
    folders.write('courses', COURSES)
    folders.write('billing', BILLING)
    const first = await start(t, folders)
    t.equal(await statusOf(first, '/api/billing/7'), 200)
    t.match(await textOf(first, '/metrics'), /^scopegate_policy_source_valid\{source="billing"\} 1$/m)

    folders.write('billing', BILLING.replace('upstream: api', 'upstrem: api'))
    folders.write('courses', COURSES.replace('/api/courses/**', '/api/courses/new'))
    const response = await send(`${first.gateway.managementUrl}/reload`, { method: 'POST' })
    t.equal(response.status, 200)
    t.match(response.json, {
      result: 'applied',
      sources: [
        { name: 'courses', state: 'valid', error: null },
        { name: 'billing', state: 'kept', error: { code: 'P101', place: /team\.policy\.yaml:4:1$/ } },
      ],
    })
    t.equal(await statusOf(first, '/api/billing/7'), 200, 'the last valid version of the source')
    t.equal(await statusOf(first, '/api/courses/new'), 200, 'the new version of the other source')
    t.equal(await statusOf(first, '/api/courses/7'), 404)
    t.match(await textOf(first, '/metrics'), /^scopegate_policy_source_valid\{source="billing"\} 0$/m)
    t.match(await textOf(first, '/metrics'), /^scopegate_policy_source_valid\{source="courses"\} 1$/m)
    t.match(
      await textOf(first, '/readyz?verbose'),
      /\[!\] policy source billing: 1 routes, \w{12}, its last valid version stays active; .*:4:1: error\[P101\]/,
    )
    const lines = () => first.log().filter(({ event }) => String(event).startsWith('policy_source'))
    t.match(lines(), [
      { event: 'policy_source_invalid', source: 'billing', state: 'kept', errors: 1, diagnostic: 'P101' },
    ])
    await first.gateway.reload('signal')
    t.equal(lines().length, 1, 'one line for each change')
    await first.gateway.close({ how: 'immediate' })

    const second = await start(t, folders)
    t.equal(await statusOf(second, '/api/billing/7'), 200, 'the stored version')
    t.equal(await statusOf(second, '/api/courses/new'), 200)
    const [stored = ''] = readdirSync(join(folders.root, 'data')).filter((name) => name.includes('billing'))
    t.equal(statSync(join(folders.root, 'data', stored)).mode & 0o777, 0o600)
    folders.write('billing', BILLING)
    t.match(await second.gateway.reload('signal'), { result: 'applied' })
    t.match(
      second.log().find(({ event }) => event === 'policy_source_valid'),
      { source: 'billing', owner: 'team-billing' },
    )
  },
)

t.test('a source with an empty folder is invalid until the folder has policies', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  const under = await start(t, folders)
  t.equal(await statusOf(under, '/api/billing/7'), 503)
  t.equal(await statusOf(under, '/api/courses/7'), 200)
  t.match(await textOf(under, '/readyz?verbose'), /^\[!\].* billing.*P005/m)
  t.match(await textOf(under, '/metrics'), 'scopegate_policy_source_valid{source="billing"} 0\n')
  folders.write('billing', BILLING)
  t.match(await under.gateway.reload('signal'), { result: 'applied' })
  t.equal(await statusOf(under, '/api/billing/7'), 200)
  t.match(await textOf(under, '/metrics'), 'scopegate_policy_source_valid{source="billing"} 1\n')
})

t.test('a source without a valid version causes 503 for its own prefixes only', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', policyOf('invoices', '/api/billing', '    scopes: { all: [unknown] }\n'))
  const under = await start(t, folders)
  for (const path of ['/api/billing', '/api/billing/', '/api/billing/7/x']) {
    const { status, json, headers } = await send(`${under.gateway.url}${path}`)
    t.equal(status, 503, path)
    t.match(json, { error: 'policy_unavailable', retry_after: 30 })
    t.equal(headers.get('retry-after'), '30')
    t.notMatch(JSON.stringify(json), /billing|unknown/)
  }
  t.equal((await send(`${under.gateway.url}/api/billing/7`, { method: 'DELETE' })).status, 503)
  t.equal(await statusOf(under, '/api/billing-admin'), 404)
  t.equal(await statusOf(under, '/api/courses/7'), 200)
  t.equal(under.upstream.requests.length, 1, 'only the request for the other source')
  t.match(JSON.parse(await textOf(under, '/policies')), {
    sources: [
      { name: 'courses', owner: 'team-courses', state: 'valid', version: /^\w{64}$/ },
      { name: 'billing', state: 'unavailable', version: null, error: { code: 'P201' } },
    ],
    unavailable: [{ source: 'billing', prefix: '/api/billing', excludedPrefixes: [] }],
  })
  const live = await fetchLivePolicies(under.gateway.managementUrl)
  for (const [method, path] of [
    ['GET', '/api/billing'],
    ['OPTIONS', '/api/billing/7'],
    ['TRACE', '/api/billing/7'],
    ['GET', '/api/billing-admin'],
    ['GET', '/api/courses/7'],
    ['POST', '/api/courses/7'],
  ] as const) {
    const request = { method, target: path, headers: [], claims: undefined, isCompleted: false }
    const predicted = simulate(request, live, Date.now() / 1_000).response?.status ?? 200
    const bytes = await under.raw(`${method} ${path} HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n\r\n`)
    t.match(bytes, new RegExp(`^HTTP/1.1 ${predicted} `), `${method} ${path}: the simulation agrees`)
  }
  folders.write('billing', BILLING)
  t.match(await under.gateway.reload('signal'), { result: 'applied' })
  t.equal(await statusOf(under, '/api/billing/7'), 200)
})

t.test(
  'a source that claims the path of another source is invalid, and the other source stays valid',
  async (t) => {
    const folders = makeFolders(t)
    folders.write('courses', COURSES)
    folders.write('billing', BILLING.replace('anonymous: allow', 'anonymous: deny'))
    const under = await start(t, folders)
    folders.write(
      'courses',
      `${COURSES}  - { name: more, anonymous: allow, match: { methods: [GET], path: /api/billing/7 } }\n`,
    )
    const report = await under.gateway.reload('signal')
    t.match(report.sources, [
      { name: 'courses', state: 'kept' },
      { name: 'billing', state: 'valid' },
    ])
    t.match(report.diagnostics[0], {
      code: 'P401',
      message: /"\/api\/billing\/7" belongs to source billing \(owner team-billing\)/,
      location: { line: 9 },
    })
    t.equal(await statusOf(under, '/api/billing/7'), 401)
    t.equal(await statusOf(under, '/api/courses/7'), 200)
  },
)

t.test('a source keeps its version when its folder is missing or exceeds a limit', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', BILLING)
  const under = await start(t, folders)
  const billing = join(folders.root, 'billing')
  const reload = async () => {
    const { sources } = await under.gateway.reload('signal')
    t.equal(sources[0]?.state, 'valid')
    t.equal(await statusOf(under, '/api/billing/7'), 200)
    t.equal(await statusOf(under, '/api/courses/7'), 200)
    return sources[1]
  }
  renameSync(billing, `${billing}-away`)
  t.match(await reload(), { state: 'kept', errors: [{ code: 'P001' }] })
  renameSync(`${billing}-away`, billing)
  t.match(await reload(), { state: 'valid' })
  folders.write('billing', `# ${'x'.repeat(10 * 1024 * 1024)}\n`)
  t.match(await reload(), { state: 'kept', errors: [{ code: 'P003' }] })
  folders.write('billing', BILLING)
  for (let index = 0; index <= 1_000; index++) folders.write('billing', '', `f${index}.policy.yaml`)
  t.match(await reload(), { state: 'kept', errors: [{ code: 'P007', message: /more than 1000 files/ }] })
  rmSync(billing, { recursive: true })
  mkdirSync(billing)
  t.match(await reload(), { state: 'kept', errors: [{ code: 'P005' }] })
})

t.test('a data folder that is not writable is logged, and the gateway serves all sources', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', BILLING)
  const file = join(folders.root, 'file')
  writeFileSync(file, '')
  const under = await start(t, folders, (config) => ({ ...config, dataDir: join(file, 'data') }))
  await until('the log line', async () =>
    under.log().some(({ event }) => event === 'policy_source_not_stored'),
  )
  t.match(
    under.log().filter(({ event }) => event === 'policy_source_not_stored'),
    [{ source: 'courses', reason: 'ENOTDIR' }],
  )
  folders.write('billing', 'broken')
  t.match(await under.gateway.reload('signal'), { sources: [{}, { state: 'kept' }] })
  t.equal(await statusOf(under, '/api/billing/7'), 200, 'the version in memory')
})

t.test('after a restart the gateway checks a stored version against the current permissions', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', BILLING)
  const first = await start(t, folders)
  await until('the stored version', async () => readdirSync(join(folders.root, 'data')).length === 2)
  await first.gateway.close({ how: 'immediate' })
  folders.write('billing', 'broken')
  const second = await start(t, folders, (config) => ({
    ...config,
    policySources: config.policySources.map((source) => ({
      ...source,
      permissions: { ...source.permissions, anonymous: source.name === 'courses' },
    })),
  }))
  t.equal(await statusOf(second, '/api/billing/7'), 503)
  t.equal(await statusOf(second, '/api/courses/7'), 200)
  await second.gateway.close({ how: 'immediate' })

  const stored = join(folders.root, 'data', 'policy-source-billing.json')
  t.match(
    JSON.parse(readFileSync(stored, 'utf8')),
    { source: 'billing' },
    'an invalid file replaces no version',
  )
  chmodSync(stored, 0o666)
  const third = await start(t, folders)
  t.equal(await statusOf(third, '/api/billing/7'), 503, 'a file that others may write is not read')
})

t.test('with onInvalidPolicy: fail, an invalid source prevents the start and the reload', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', BILLING)
  const fail = (config: GatewayConfig): GatewayConfig => ({ ...config, onInvalidPolicy: 'fail' })
  const under = await start(t, folders, fail)
  folders.write('billing', 'broken')
  folders.write('courses', COURSES.replace('/api/courses/**', '/api/courses/new'))
  t.match(await under.gateway.reload('signal'), { result: 'broken' })
  t.equal(await statusOf(under, '/api/courses/7'), 200, 'the reload is rejected as a whole')
  await t.rejects(start(t, folders, fail), { code: 'ERR_CONFIG_INVALID' })
})

t.test('the watch reloads a changed source', async (t) => {
  const folders = makeFolders(t)
  folders.write('courses', COURSES)
  folders.write('billing', BILLING)
  const under = await start(t, folders, (config) => ({ ...config, policyReload: 'watch' }))
  folders.write('courses', 'broken')
  await until('the invalid source', async () =>
    /\[!\] policy source courses/.test(await textOf(under, '/readyz?verbose')),
  )
  folders.write('billing', policyOf('invoices', '/api/billing/new'))
  await until(
    'the changed source',
    async () =>
      (await statusOf(under, '/api/billing/new')) === 200 &&
      (await statusOf(under, '/api/billing/7')) === 404,
  )
  t.equal(await statusOf(under, '/api/courses/7'), 200)
})
