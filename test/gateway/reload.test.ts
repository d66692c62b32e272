import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { aConfigMap, type ConfigMapVolume } from '../fixtures/a-config-map.ts'
import { BASE_URL, type GatewayUnderTest, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

type Reloadable = GatewayUnderTest & {
  /** Without a name, replaces the only policy file. */
  write(text: string, name?: string): void
  remove(name?: string): void
  readonly folder: string
  readyz(): Promise<string>
  metrics(): Promise<string>
}

async function startReloadable(
  t: Test,
  change: (config: GatewayConfig) => GatewayConfig = (config) => config,
): Promise<Reloadable> {
  let folder = ''
  const under = await startGatewayUnderTest(t, {
    change(config) {
      folder = config.policiesDir
      return change(config)
    },
  })
  const { managementUrl } = under.gateway
  return {
    ...under,
    folder,
    write: (text, name = 'test.policy.yaml') => writeFileSync(join(folder, name), text),
    remove: (name = 'test.policy.yaml') => rmSync(join(folder, name)),
    readyz: async () => (await send(`${managementUrl}/readyz?verbose`)).text,
    metrics: async () => (await send(`${managementUrl}/metrics`)).text,
  }
}

const CLOSED = POLICY.replace('anonymous: allow', 'anonymous: deny')
const TYPO = POLICY.replace('owner: team-test', 'ownr: team-test')

t.test(
  'invalid policies change nothing, and every channel reports the problem with its location',
  async (t) => {
    const under = await startReloadable(t)
    const { gateway } = under
    const before = await under.metrics()
    under.write(TYPO)
    const answer = await send(`${gateway.managementUrl}/reload`, { method: 'POST' })
    t.equal(answer.status, 422)
    const [first] = answer.json['diagnostics'] as Record<string, unknown>[]
    t.match(first, { code: 'P101', line: 4, column: 1, severity: 'error' })
    t.match(first?.['file'], /test\.policy\.yaml$/)
    t.equal((await send(`${gateway.url}/api/courses`)).status, 200)
    const ready = await send(`${gateway.managementUrl}/readyz?verbose`)
    t.equal(ready.status, 200)
    t.match(ready.text, /\[!\] policies: .*test\.policy\.yaml:4:1: error\[P101\]/)
    const metrics = await under.metrics()
    t.match(metrics, /^scopegate_policy_reload_success 0$/m)
    t.match(metrics, /^scopegate_policy_reloads_total\{result="failure"\} 1$/m)
    t.equal(
      /policy_info\{.*/.exec(metrics)?.[0],
      /policy_info\{.*/.exec(before)?.[0],
      'the hash of the active policies',
    )

    await gateway.reload('watch')
    await gateway.reload('signal')
    const told = under.log().filter(({ event }) => event === 'policy_reload_failed')
    t.equal(told.length, 2, 'a watch reports the same content once, a signal always gets a result')
    t.match(told[0]?.['diagnostics'], /4 \| ownr: team-test\n {2}\| \^\^\^\^ did you mean "owner"\?/)
    t.match(await under.metrics(), /^scopegate_policy_reloads_total\{result="failure"\} 1$/m)

    under.write(POLICY)
    t.match(await gateway.reload('watch'), { result: 'unchanged', previousHash: undefined })
    t.match(await under.metrics(), /^scopegate_policy_reload_success 1$/m)
    t.match(await under.readyz(), /\[\+\] policies: 12 routes/)
  },
)

t.test('a folder without policies, or a missing folder, keeps the active policies', async (t) => {
  const under = await startReloadable(t)
  under.remove()
  t.match(await under.gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P005' }] })
  rmSync(under.folder, { recursive: true })
  t.match(await under.gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P001' }] })
  t.equal((await send(`${under.gateway.url}/api/courses`)).status, 200)
})

t.test('a gateway that shuts down does not reload', async (t) => {
  const { gateway, log } = await startReloadable(t)
  const closed = gateway.close()
  t.match(await gateway.reload('signal'), { result: 'not_checked', failure: 'stopping' })
  t.match(log().at(-1), { event: 'policy_reload_stopped', asked_by: 'signal', remedy: /at its start/ })
  await closed
})

t.test('new policies and documents become active at the same time', async (t) => {
  const under = await startReloadable(t)
  const { gateway } = under
  const old = /policy_info\{hash="(\w+)"\}/.exec(await under.metrics())?.[1]
  under.write(
    CLOSED.replace('all: [courses:read]', 'all: [comments:read]').replace(
      'path: /api/denied',
      'path: /api/forbidden',
    ),
  )
  const answer = await send(`${gateway.managementUrl}/reload`, { method: 'POST' })
  t.equal(answer.status, 200)
  t.match(answer.json, { result: 'applied', previous_hash: old, diagnostics: [], routes: 12 })
  t.not(answer.json['hash'], old)
  t.equal((await send(`${gateway.url}/api/courses`)).status, 401)
  t.equal((await send(`${gateway.url}/api/denied`)).status, 404)
  t.equal((await send(`${gateway.url}/api/forbidden`)).status, 401)
  const { json } = await send(`${gateway.url}/.well-known/oauth-protected-resource`)
  t.ok((json['scopes_supported'] as string[]).includes('comments:read'))
  t.match((await send(`${gateway.url}/openapi.json`)).text, /"\/api\/forbidden"/)
  const metrics = await under.metrics()
  t.same(metrics.match(/^scopegate_policy_info\{.*/gm), [
    `scopegate_policy_info{hash="${answer.json['hash']}"} 1`,
  ])
  t.match(metrics, /^scopegate_policy_reloads_total\{result="success"\} 1$/m)
  t.match(
    under.log().find(({ event }) => event === 'policy_reloaded'),
    { asked_by: 'endpoint', policy_hash: answer.json['hash'], previous_policy_hash: old, routes: 12 },
  )
  t.match(
    under.log().filter(({ event }) => event === 'audit'),
    [
      {
        level: 'info',
        action: 'policies_changed',
        asked_by: 'endpoint',
        policy_hash: answer.json['hash'],
        previous_policy_hash: old,
      },
    ],
  )
})

t.test(
  'a reload keeps counters and token cache, and the gateway introspects again for a newly required claim',
  async (t) => {
    const under = await startReloadable(t)
    const { gateway, issuer } = under
    const limited = POLICY.replace(
      'path: /api/denied }, anonymous: deny',
      'path: /api/denied }, rateLimit: { requests: 2, per: 1h, by: client }, anonymous: deny',
    )
    const token = issuer.store('reload-token', { scope: 'courses:read orders:read', school_id: 's1' })
    const get = (path: string) => send(`${gateway.url}${path}`, { token })
    under.write(limited)
    t.match(await gateway.reload('signal'), { result: 'applied' })
    t.equal((await get('/api/denied')).status, 200)
    t.equal((await get('/api/denied')).status, 200)
    const asked = issuer.asked.length
    const keys = (await send(`${gateway.url}/.well-known/scopegate/jwks.json`)).text

    under.write(`${limited}  - { name: new, match: { methods: [GET], path: /api/new } }\n`)
    t.match(await gateway.reload('signal'), { result: 'applied' })
    t.equal((await get('/api/denied')).status, 429, 'a used limit stays used')
    t.equal((await get('/api/courses')).status, 200)
    t.equal(issuer.asked.length, asked, 'the token is still cached')
    t.equal((await send(`${gateway.url}/.well-known/scopegate/jwks.json`)).text, keys)
    t.match(await under.metrics(), /http_requests_total\{route="test\/denied",method="GET",code="200"\} 2\n/)

    const schools = (id: string): string =>
      POLICY.replace(
        'path: /api/courses }, scopes: { all: [courses:read] }',
        `path: /api/courses }, anonymous: challenge, scopes: { all: [courses:read] }, when: [{ claim: school_id, equals: ${id} }]`,
      )
    under.write(schools('s1'))
    t.match(await gateway.reload('signal'), { result: 'applied' })
    t.equal(
      (await get('/api/courses')).status,
      200,
      'the claim is read for a token that was cached without it',
    )
    t.equal(issuer.asked.length, asked + 1)
    under.write(schools('s2'))
    t.match(await gateway.reload('signal'), { result: 'applied' })
    t.equal((await get('/api/courses')).status, 403)
    t.equal(issuer.asked.length, asked + 1, 'and cached afterwards')
  },
)

t.test('during a reload, a request that waits for its issuer uses the policies from its start', async (t) => {
  const under = await startReloadable(t)
  const { gateway, issuer } = under
  const token = issuer.store('slow-token', { scope: 'courses:read' })
  let answer: () => void = () => undefined
  const asked = new Promise<void>((resolve) =>
    issuer.answerWith((response) => {
      answer = () => {
        response.setHeader('content-type', 'application/json')
        const now = Math.floor(Date.now() / 1_000)
        response.end(
          JSON.stringify({
            active: true,
            iss: BASE_URL,
            aud: BASE_URL,
            scope: 'courses:read',
            iat: now,
            exp: now + 600,
          }),
        )
      }
      resolve()
    }),
  )
  const waiting = send(`${gateway.url}/api/courses`, { token })
  await asked
  under.write(POLICY.replaceAll('courses:read', 'comments:read'))
  t.match(await gateway.reload('signal'), { result: 'applied' })
  answer()
  t.equal((await waiting).status, 200)
  issuer.answerWith(undefined)
  t.equal((await send(`${gateway.url}/api/courses`, { token })).status, 403)
})

t.test('the scope catalogue is reloaded and checked together with the policies', async (t) => {
  let scopesFile = ''
  const scope = (name: string) => ({ name, description: name, group: 'All', sensitivity: 'read' })
  const names = ['courses:read', 'courses:write', 'orders:read', 'posts:read', 'pages:read']
  const writeScopes = (scopes: readonly object[]) => writeFileSync(scopesFile, JSON.stringify({ scopes }))
  const under = await startReloadable(t, (config) => {
    mkdirSync(join(config.policiesDir, '.config'))
    scopesFile = join(config.policiesDir, '.config', 'scopes.yaml')
    writeScopes(names.map(scope))
    return { ...config, scopesFile }
  })
  const { gateway, issuer } = under
  const token = issuer.store('writer', { scope: 'courses:write' })
  t.equal((await send(`${gateway.url}/api/courses`, { token })).status, 403)

  under.write(POLICY.replace('posts:read', 'reviews:read'))
  t.match(await gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'P201' }] })
  const more = [...names, 'reviews:read'].map(scope)
  writeScopes(more.map((one) => (one.name === 'courses:write' ? { ...one, implies: ['courses:read'] } : one)))
  t.match(await gateway.reload('signal'), { result: 'applied' })
  t.equal(
    (await send(`${gateway.url}/api/courses`, { token })).status,
    200,
    'the implied scopes are effective immediately',
  )
  t.match((await send(`${gateway.url}/auth.md`)).text, /`reviews:read`/)

  writeScopes([{ ...scope('courses:read'), sensitivity: 'high' }])
  t.match(await gateway.reload('signal'), { result: 'broken', diagnostics: [{ code: 'C102' }] })
  t.equal((await send(`${gateway.url}/api/courses`, { token })).status, 200)
})

const FORGED = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-scopegate-policy: forged\r\n\r\n{}'

t.test(
  'responses contain the policy version if configured, and upstreams cannot set this header',
  async (t) => {
    const under = await startReloadable(t, (config) => ({ ...config, debug: { policyHeader: true } }))
    const { gateway, upstream } = under
    upstream.reply(FORGED)
    const { json } = await send(`${gateway.managementUrl}/policies`)
    const hash = String(json['hash']).slice(0, 12)
    for (const path of ['/api/courses', '/api/challenged', '/nothing', '/', '/api/small'])
      t.equal((await send(`${gateway.url}${path}`)).headers.get('x-scopegate-policy'), hash, path)
    const plain = await startReloadable(t)
    plain.upstream.reply(FORGED)
    t.equal((await send(`${plain.gateway.url}/api/courses`)).headers.get('x-scopegate-policy'), null)
  },
)

t.test('presets are reloaded with the policies that extend them', async (t) => {
  let presetsFile = ''
  const writePresets = (text: string) => writeFileSync(presetsFile, `presets: { front: ${text} }\n`)
  const under = await startReloadable(t, (config) => {
    mkdirSync(join(config.policiesDir, '.config'))
    presetsFile = join(config.policiesDir, '.config', 'presets.yaml')
    writePresets('{ anonymous: allow }')
    return { ...config, presetsFile }
  })
  const { gateway } = under
  const status = async () => (await send(`${gateway.url}/api/denied`)).status
  under.write(
    POLICY.replace('anonymous: deny', 'extends: front').replace(
      'defaults: { anonymous: allow,',
      'defaults: {',
    ),
  )
  t.match(await gateway.reload('signal'), { result: 'applied' })
  t.equal(await status(), 200)
  writePresets('{ anonymous: deny }')
  t.match(await gateway.reload('signal'), { result: 'applied' })
  t.equal(await status(), 401)
  writePresets('{ anonymous: dney }')
  const report = await gateway.reload('signal')
  t.match(report, { result: 'broken', diagnostics: [{ code: 'C102' }] })
  t.equal(report.diagnostics.length, 1, 'no problem is reported for the policies that extend it')
  t.equal(await status(), 401)
})

t.test('a changed ConfigMap in a nested folder becomes active automatically', async (t) => {
  const team = (path: string): string =>
    `apiVersion: scopegate/v1\nkind: Policy\nname: team\nupstream: api\nroutes:\n  - { name: one, anonymous: allow, match: { methods: [GET], path: ${path} } }\n`
  let volume: ConfigMapVolume | undefined
  const under = await startReloadable(t, (config) => {
    mkdirSync(join(config.policiesDir, 'team'))
    // This file and the policy file in the parent folder have the same name.
    volume = aConfigMap(join(config.policiesDir, 'team'), { 'test.policy.yaml': team('/api/team') })
    return { ...config, policyReload: 'watch' }
  })
  const status = async (path: string) => (await send(`${under.gateway.url}${path}`)).status
  t.equal(await status('/api/team'), 200)
  t.equal(await status('/api/courses'), 200)

  volume?.swap({ 'test.policy.yaml': team('/api/other') })
  await until('the changed ConfigMap', async () => (await status('/api/other')) === 200)
  t.equal(await status('/api/team'), 404)
  t.equal(await status('/api/courses'), 200)

  under.write(team('/api/third'))
  t.match(await under.gateway.reload('signal'), {
    result: 'broken',
    diagnostics: [
      {
        code: 'P303',
        location: { file: /test\.policy\.yaml$/ },
        related: [{ location: { file: /test\.policy\.yaml$/ } }],
      },
    ],
  })
  t.equal(await status('/api/other'), 200, 'the active policies stay')
})
