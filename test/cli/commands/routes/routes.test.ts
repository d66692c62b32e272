import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { readGatewayConfig } from '../../../../gateway/config/read-gateway-config.ts'
import { readPolicySources } from '../../../../gateway/snapshot/reload/read-policy-sources.ts'
import { aPolicyFolder } from '../../../fixtures/a-policy-folder.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: courses
owner: team-a
upstream: learning-platform
defaults: { anonymous: challenge }
routes:
  - name: tool
    match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call } }
    scopes: { all: [courses:read], any: [courses:write, posts:write] }
    when: [{ claim: school_id, exists: true }]
    enforce: report
  - { name: open, match: { methods: [GET], path: /api/courses }, anonymous: allow }
`

async function run(folder: string, ...args: string[]) {
  return runWith({}, folder, ...args)
}

async function runWith(env: Readonly<Record<string, string>>, folder: string, ...args: string[]) {
  const terminal = aTerminal({ folder, env })
  return { code: await main(['routes', ...args], terminal), ...terminal.said }
}

t.test('routes lists the effective rules of each route with defaults, sorted by path', async (t) => {
  const second = POLICY.replace('name: courses', 'name: other').replace('team-a', 'team-b')
  const folder = aPolicyFolder(t, {
    'courses.policy.yaml': POLICY,
    'other.policy.yaml': second.replace('/mcp', '/mcp2').replace('/api/courses', '/api/other'),
  })
  const { code, out } = await run(folder, '--owner', 'team-a')
  t.equal(code, 0)
  const [head, open, tool, , sum] = out.split('\n')
  t.match(head, /^METHODS {2}PATH +SCOPES +ANONYMOUS {2}ENFORCE {2}UPSTREAM +OWNER +ROUTE +PLACE$/)
  t.match(
    open,
    /^GET +\/api\/courses +- +allow +on +learning-platform {2}team-a {2}courses\/open +\S+courses\.policy\.yaml:13:5$/,
  )
  t.match(
    tool,
    /^POST +\/mcp mcp-method: tools\/call {2}all of: courses:read and one of: courses:write, posts:write when school_id {2}challenge {2}report /,
  )
  t.equal(sum, '2 routes')
  const json = JSON.parse((await run(folder, '--json')).out)
  t.equal(json.routes.length, 4)
  t.match(json, {
    hash: /^[0-9a-f]{64}$/,
    routes: [{ name: 'courses/open', anonymous: 'allow', source: { line: 13 } }],
  })
})

t.test('routes accepts a configuration that names the issuer again if PORT is set', async (t) => {
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': POLICY })
  const gateway = join(folder, 'config/gateway.yaml')
  const resources = 'resources: [{ path: /mcp, issuers: [http://127.0.0.1:8080] }]'
  writeFileSync(gateway, readFileSync(gateway, 'utf8').replace('resources: []', resources))
  t.match(readFileSync(gateway, 'utf8'), resources)
  const listed = await run(folder, '--json')
  t.match(listed, { code: 0, err: '' })
  t.same(await runWith({ PORT: '8180' }, folder, '--json'), listed)
})

t.test('routes prints the hash that the gateway has for the same files', async (t) => {
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': POLICY })
  const config = join(folder, 'config')
  writeFileSync(join(folder, 'secret'), 'the secret')
  const env = { SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: join(folder, 'secret') }
  const compare = async (): Promise<string> => {
    const { hash } = JSON.parse((await run(folder, '--json')).out)
    t.equal(hash, (await readPolicySources(readGatewayConfig({ configDir: config, env }).config)).hash)
    return hash
  }
  const hashes = [await compare()]
  const presets = join(config, 'presets.yaml')
  writeFileSync(presets, `${readFileSync(presets, 'utf8')}# a comment\n`)
  hashes.push(await compare())
  const gateway = join(config, 'gateway.yaml')
  mkdirSync(join(folder, 'policies', 'team'))
  writeFileSync(join(folder, 'policies', 'team', 'a.policy.yaml'), POLICY)
  writeFileSync(
    gateway,
    `${readFileSync(gateway, 'utf8').replace(/^policies:.*\n/m, '')}
policySources:
  - name: team
    folder: ../policies/team
    permissions: { pathPrefixes: [/mcp, /api/courses], upstreams: [learning-platform], scopes: ['*'], anonymous: true }
`,
  )
  hashes.push(await compare())
  t.equal(new Set(hashes).size, 3)
})

t.test('routes and explain show the decisions of an audit-only policy', async (t) => {
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': POLICY })
  const terminal = aTerminal({ folder })
  const request = [
    'POST',
    '/mcp',
    '--header',
    'mcp-method=tools/call',
    '--header',
    'mcp-protocol-version=2026-07-28',
  ]
  t.equal(await main(['explain', ...request], terminal), 0)
  t.match(terminal.said.out, /\nallow, as anonymous\n\nwith enforce: on, the response is\n401 unauthorized\n/)
  t.match(terminal.said.out, /^enforce +note +report: /m)
})

t.test('routes exits with 3 when a policy is invalid', async (t) => {
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': POLICY.replace('courses:read', 'course:read') })
  t.match(await run(folder), { code: 3, out: '', err: /^error\[P201\]/ })
})

t.test('routes, explain and diff show that a route has no upstream', async (t) => {
  const decided = POLICY.replace('upstream: learning-platform\n', '')
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': decided })
  const gatewayFile = join(folder, 'config', 'gateway.yaml')
  const decisions = '{ listen: { host: 127.0.0.1, port: 4010 }, protocol: auth-request }'
  const configure = (text: string) =>
    writeFileSync(
      gatewayFile,
      `${readFileSync(gatewayFile, 'utf8').replace(/^trustedProxies:.*\n/m, '')}${text}`,
    )
  const missing = await run(folder)
  t.equal(missing.code, 3)
  t.match(missing.err, /P103.*"upstream" is missing/)

  configure(`trustedProxies: [127.0.0.1]\ndecisions: ${decisions}\n`)
  t.match((await run(folder)).out, /^GET +\/api\/courses +- +allow +on +- +team-a /m)
  const explain = async (...args: string[]) => {
    const terminal = aTerminal({ folder })
    await main(['explain', 'GET', '/api/courses', ...args], terminal)
    return terminal.said.out
  }
  t.match(await explain(), /^upstream +none: only the decision endpoint serves this route$/m)
  t.equal(JSON.parse(await explain('--json')).upstream, null)

  mkdirSync(join(folder, 'old'))
  writeFileSync(join(folder, 'old', 'courses.policy.yaml'), POLICY)
  const terminal = aTerminal({ folder })
  await main(['diff', 'old', 'policies'], terminal)
  t.match(terminal.said.out, /upstream.*learning-platform.*none/)
})
