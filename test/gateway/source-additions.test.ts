import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'

const policyOf = (source: string, more = '') =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: p\nupstream: own\nroutes:\n  - name: all\n    match: { methods: [GET], path: "/api/${source}/**" }\n    anonymous: allow\n${more}`

/** Two sources define an upstream with the same name. */
async function setUp(
  t: Test,
  {
    hosts = ['127.0.0.1', '127.0.0.1'],
    change = (config) => config,
  }: {
    readonly hosts?: readonly [courses: string, billing: string]
    readonly change?: (config: GatewayConfig) => GatewayConfig
  } = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'scopegate-additions-'))
  const upstreams = await Promise.all([startRecordingUpstream(), startRecordingUpstream()])
  t.teardown(async () => {
    rmSync(root, { recursive: true, force: true })
    await Promise.all(upstreams.map((one) => one.close()))
  })
  const names = ['courses', 'billing']
  const addresses = upstreams.map(({ url }, index) => url.replace('127.0.0.1', hosts[index] ?? ''))
  const write = (source: string, file: string, text: string) => writeFileSync(join(root, source, file), text)
  for (const [index, name] of names.entries()) {
    mkdirSync(join(root, name))
    write(name, 'team.policy.yaml', policyOf(name))
    write(name, 'upstreams.yaml', `own: { url: "${addresses[index]}" }\n`)
  }
  const start = () =>
    startGatewayUnderTest(t, {
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      change: (config) =>
        change({
          ...config,
          policiesDir: '',
          policySources: names.map((name, index) => ({
            name,
            folder: join(root, name),
            owner: `team-${name}`,
            permissions: {
              pathPrefixes: [`/api/${name}`],
              upstreams: [],
              addresses: [addresses[index] ?? ''],
              scopes: [`${name}:*`],
              anonymous: true,
              forwardCredentials: false,
            },
          })),
          onInvalidPolicy: 'keep',
          dataDir: join(root, 'data'),
        }),
    })
  return { start, write, upstreams, addresses }
}

const statusOf = async ({ gateway }: GatewayUnderTest, path: string) =>
  (await send(`${gateway.url}${path}`)).status

t.test(
  'two sources can define upstreams with the same name, and each source uses its own upstream',
  async (t) => {
    const { start, upstreams } = await setUp(t)
    const under = await start()
    t.equal(await statusOf(under, '/api/courses/7'), 200)
    t.equal(await statusOf(under, '/api/billing/8'), 200)
    t.same(
      upstreams.map(({ requests }) => requests.map(({ target }) => target)),
      [['/api/courses/7'], ['/api/billing/8']],
    )
    const metrics = (await send(`${under.gateway.managementUrl}/metrics`)).text
    t.match(metrics, /^scopegate_upstream_up\{upstream="billing\/own"\} 1$/m)
    t.match(JSON.parse((await send(`${under.gateway.managementUrl}/policies`)).text), {
      routes: [{ upstream: 'courses/own' }, { upstream: 'billing/own' }],
    })
  },
)

t.test('a reload changes the address, and an invalid file keeps the last upstream', async (t) => {
  const { start, write, upstreams, addresses } = await setUp(t)
  const under = await start()
  write('billing', 'upstreams.yaml', `own: { url: "${addresses[0]}" }\n`)
  const report = await under.gateway.reload('signal')
  t.match(report.sources, [
    { name: 'courses', state: 'valid' },
    { name: 'billing', state: 'kept', errors: [{ code: 'P407', location: { line: 1 } }] },
  ])
  t.equal(await statusOf(under, '/api/billing/7'), 200)
  t.equal(upstreams[1]?.requests.length, 1, 'the address of the last valid version')
  write('billing', 'upstreams.yaml', `own: { url: "${addresses[1]}", timeout: 3s }\n`)
  t.match(await under.gateway.reload('signal'), { sources: [{}, { state: 'valid' }] })
  t.equal(await statusOf(under, '/api/billing/7'), 200)
  await under.gateway.close({ how: 'immediate' })

  write('billing', 'upstreams.yaml', 'own: {')
  const second = await start()
  t.equal(await statusOf(second, '/api/billing/7'), 200, 'the stored upstream')
  t.equal(upstreams[1]?.requests.length, 3)
})

t.test('an upstream of a source is not reachable if its host name resolves to this machine', async (t) => {
  const { start, upstreams } = await setUp(t, { hosts: ['courses.test', 'localhost'] })
  const under = await start()
  const { status, json } = await send(`${under.gateway.url}/api/courses/7`)
  t.equal(status, 502)
  t.match(json, { error: 'upstream_unavailable' })
  t.equal(upstreams[0]?.requests.length, 0)
  t.equal(await statusOf(under, '/api/billing/7'), 200, 'the operator has permitted localhost')
})

t.test('a source can define scopes, and its routes require them', async (t) => {
  const { start, write } = await setUp(t)
  write(
    'billing',
    'scopes.yaml',
    'scopes:\n  - { name: "billing:read", description: Read invoices, group: Billing, sensitivity: read }\n  - { name: "billing:all", description: All, group: Billing, sensitivity: write, implies: ["billing:read"] }\n',
  )
  const guarded = policyOf('billing', '    scopes: { all: ["billing:read"] }\n').replace('allow', 'challenge')
  write('billing', 'team.policy.yaml', guarded)
  const under = await start()
  const withScope = async (scope: string) => {
    const token = under.issuer.store(`token-${scope.replace(':', '-')}`, { scope })
    const headers = { authorization: `Bearer ${token}` }
    return (await send(`${under.gateway.url}/api/billing/7`, { headers })).status
  }
  t.equal(await withScope('billing:read'), 200)
  t.equal(await withScope('billing:all'), 200, 'an implied scope')
  t.equal(await withScope('courses:read'), 403)
  t.match((await send(`${under.gateway.url}/openapi.json`)).text, 'Read invoices')

  write('courses', 'team.policy.yaml', policyOf('courses', '    scopes: { all: ["billing:read"] }\n'))
  t.match(await under.gateway.reload('signal'), {
    sources: [{ state: 'kept', errors: [{ code: 'P201' }] }, { state: 'valid' }],
  })
})

t.test('the metadata of a resource does not list the scopes of sources', async (t) => {
  const { start, write } = await setUp(t, {
    change: (config) => ({
      ...config,
      policySources: config.policySources.map((source) => ({
        ...source,
        permissions: { ...source.permissions, scopes: ['*'] },
      })),
    }),
  })
  write(
    'billing',
    'scopes.yaml',
    'scopes:\n  - { name: "billing:read", description: Read invoices, group: Billing, sensitivity: read }\n',
  )
  write('billing', 'team.policy.yaml', policyOf('billing', '    scopes: { all: ["billing:read"] }\n'))
  write('courses', 'team.policy.yaml', policyOf('courses', '    scopes: { all: ["courses:read"] }\n'))
  const { gateway } = await start()
  t.match(await gateway.reload('signal'), { sources: [{ state: 'valid' }, { state: 'valid' }] })
  const { json } = await send(`${gateway.url}/.well-known/oauth-protected-resource`)
  t.match(json, { authorization_servers: [/^http/] })
  t.same((json as { readonly scopes_supported: unknown }).scopes_supported, ['courses:read'])
})

t.test('the console shows the tests of a policy source, and an example that passes', async (t) => {
  const { start, write } = await setUp(t)
  const { gateway } = await start()
  const testsOf = async (source: string) => {
    const { json } = await send(`${gateway.managementUrl}/console/route?name=${source}/p/all&format=json`)
    return json['tests'] as { readonly example: string }
  }
  const { example } = await testsOf('courses')
  t.match(example, 'expect: { decision: allow, route: all }')
  write('courses', 'team.policy.yaml', policyOf('courses', example))
  await gateway.reload('endpoint')
  t.match(await testsOf('courses'), {
    passed: 1,
    failed: 0,
    tests: [{ place: /courses.team\.policy\.yaml:10:5$/ }],
  })
  t.match(await testsOf('billing'), { passed: 0, failed: 0 })
})
