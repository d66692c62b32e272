import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { readScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: read, match: { methods: [GET], path: /api/courses }, scopes: { all: [courses:read] } }
  - { name: write, match: { methods: [POST], path: /api/courses }, scopes: { all: [courses:write] } }
  - { name: profile, match: { methods: [GET], path: /api/profile }, scopes: { any: [profile, members:read] } }
  - { name: mcp, match: { methods: [GET], path: "/mcp/**" }, scopes: { all: [posts:read, posts:write] } }
  - { name: files, match: { methods: [GET], path: "/files/**" }, scopes: { all: [storage:write] } }
`
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

async function startWith(t: Test, resources: GatewayConfig['resources']) {
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, resources }),
  })
  return async (path = '') => (await send(gateway.url + WELL_KNOWN + path)).json
}

t.test('the metadata lists only the read scopes that routes of the resource need', async (t) => {
  const metadata = await startWith(t, [{ path: '/mcp' }])
  t.same((await metadata())['scopes_supported'], ['courses:read', 'members:read'])
  t.same((await metadata('/mcp'))['scopes_supported'], ['posts:read'])
})

t.test('`scopes` of a resource sets the list of the metadata, in the same order', async (t) => {
  const metadata = await startWith(t, [
    { path: '/', scopes: ['openid', 'courses:write', 'courses:read'] },
    { path: '/mcp', scopes: ['posts:write'] },
  ])
  t.same((await metadata())['scopes_supported'], ['openid', 'courses:write', 'courses:read'])
  t.same((await metadata('/mcp'))['scopes_supported'], ['posts:write'])
})

t.test('RFC 9728 section 3.2: the metadata omits an empty list', async (t) => {
  const metadata = await startWith(t, [
    { path: '/', scopes: [] },
    { path: '/mcp', scopes: [] },
    { path: '/files' },
  ])
  for (const path of ['', '/mcp', '/files'])
    t.notOk('scopes_supported' in (await metadata(path)), `${path || '/'} has no scopes_supported`)
})

t.test('the challenge of a route lists scopes outside the baseline list', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, resources: [{ path: '/', scopes: [] }] }),
  })
  const response = await send(`${gateway.url}/api/courses`, { method: 'POST' })
  t.equal(response.status, 401)
  t.match(response.headers.get('www-authenticate'), /scope="courses:write"/)
})

t.test('a gateway with an unknown scope in a list does not start', async (t) => {
  const resources = [{ path: '/mcp', scopes: ['posts:read', 'posts:raed'] }]
  await t.rejects(startWith(t, resources), {
    code: 'ERR_CONFIG_INVALID',
    diagnostics: [
      {
        code: 'C347',
        severity: 'error',
        message: 'resources[0].scopes[1]: scope "posts:raed" is not in the scope catalogue',
        location: { file: 'gateway.yaml' },
        hint: 'did you mean "posts:read"?',
      },
    ],
  })
})

t.test('a reload fails and changes nothing if it removes a listed scope from the catalogue', async (t) => {
  let scopesFile = ''
  const names = [...new Set(POLICY.match(/\w+:(?:read|write)|(?<=any: \[)\w+/g)), 'extra:read']
  const write = (listed: readonly string[]) =>
    writeFileSync(
      scopesFile,
      JSON.stringify({
        scopes: listed.map((name) => ({ name, description: name, group: 'Test', sensitivity: 'read' })),
      }),
    )
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => {
      mkdirSync(join(config.policiesDir, '.config'))
      scopesFile = join(config.policiesDir, '.config', 'scopes.yaml')
      write(names)
      const catalogue = readScopeCatalogue({ file: scopesFile })
      return { ...config, scopesFile, catalogue, resources: [{ path: '/', scopes: ['extra:read'] }] }
    },
  })
  write(names.filter((name) => name !== 'extra:read'))
  t.match(await gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'C347' }] })
  t.same((await send(gateway.url + WELL_KNOWN)).json['scopes_supported'], ['extra:read'])
})
