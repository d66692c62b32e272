import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

const HOSTILE = '<script>alert(1)</script>'
/** Characters that reverse the text around them. A header cannot contain them. */
const REVERSED = `${HOSTILE}\u202e\u2067`

const PAGES = [
  '/',
  '/console/routes',
  '/console/policies',
  '/console/upstreams',
  '/console/issuers',
  '/console/decisions',
  '/console/explain',
] as const

t.test('the console shows the traffic, the routes and the rules of a route', async (t) => {
  const { gateway, upstream } = await startGatewayUnderTest(t)
  const { url, managementUrl } = gateway
  const json = async (path: string) => (await send(`${managementUrl}${path}`)).json
  await send(`${url}/api/courses`, { method: 'POST', token: 'wrong' })

  const overview = await send(`${managementUrl}/`)
  t.match(overview, { status: 200, text: '<h1>Overview</h1>' })
  t.match(overview.headers.get('content-type'), 'text/html')
  t.ok(overview.text.length < 100_000)
  t.notMatch(overview.text, 'Authorization server</a>', 'without management.linkedConsole')
  t.match(await json('/?format=json'), {
    redis: null,
    revocationStreams: null,
    policies: { areActive: true, sources: [], reloads: { success: 0, failure: 0 } },
  })
  t.match(overview.text, /<h3>Policies<\/h3><p class="number">active</)
  t.notMatch(overview.text, /Operations without Redis|Revocation streams/, 'no charts of missing parts')
  const routes = await json('/console/routes?format=json')
  t.match(routes, { total: 12, found: 12, page: 1, pages: 1, owners: ['team-test'] })
  t.match((await send(`${managementUrl}/console/routes`)).text, '/console/route?name=test%2Flist-courses')

  const ROUTE = '/console/route?name=test/create-course'
  await until('the denial is counted', async () => {
    const { lastMinute } = (await json(`${ROUTE}&format=json`)) as { lastMinute: { denied: number } }
    return lastMinute.denied === 1
  })
  const { text } = await send(managementUrl + ROUTE)
  for (const expected of [
    '<dt>Scopes of the token</dt><dd>all: courses:write</dd>',
    '<dt>Without a token</dt><dd>allow: forwarded without identity</dd>',
    '<dt>Team</dt><dd>team-test</dd>',
    /<dt>Policy file<\/dt><dd>\S+test\.policy\.yaml:10:5<\/dd>/,
    'invalid_token',
    '/console/decisions?route=test%2Fcreate-course',
  ])
    t.match(text, expected)
  t.equal((await send(`${managementUrl}/console/route?name=test/other`)).status, 404)
  t.equal((await send(`${managementUrl}/console/route`)).status, 404)

  await upstream.close()
  await send(`${url}/pub/a`)
  const { problems } = (await until('the failed route is a problem', async () => {
    const found = await json('/?format=json')
    return (found['problems'] as readonly unknown[]).length > 0 ? found : undefined
  })) as { problems: readonly object[] }
  t.match((await send(`${managementUrl}/console/route?name=test/open`)).text, '1 of 1 request failed')
  t.match(problems[0], {
    state: 'wrong',
    title: 'route test/open',
    detail: '1 of 1 request in the last minute failed with a status of 500 or higher.',
    doc: 'runbooks/ScopegateErrorRateHigh.md',
    href: '/console/route?name=test%2Fopen',
    place: /test\.policy\.yaml:15:5$/,
  })
  const upstreams = await json('/console/upstreams?format=json')
  t.match(upstreams, {
    upstreams: [{ name: 'api', lastMinute: { errors: { connect: 1 } } }, { name: 'auth' }],
  })
  t.match(await json('/console/issuers?format=json'), {
    issuers: [
      { issuer: 'http://api.test', validation: 'introspection', keys: null, receivesRevocations: null },
    ],
  })
})

t.test('pages escape texts of policies and of requests', async (t) => {
  const policy = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: '${REVERSED}'
upstream: api
routes:
  - name: a
    match: { methods: [GET], path: /a, headers: { x-a: '${HOSTILE}' } }
    scopes: { all: ['courses:read'] }
    anonymous: challenge
    when: [{ claim: '${REVERSED}', equals: '${REVERSED}' }]
`
  const { gateway } = await startGatewayUnderTest(t, { policy })
  const { managementUrl } = gateway
  await send(`${gateway.url}/${HOSTILE}`, { headers: { 'user-agent': HOSTILE, 'x-request-id': HOSTILE } })
  const query = new URLSearchParams(
    ['name', 'path', 'scope', 'owner', 'upstream', 'client', 'method', 'claims', 'headers', 'id'].map(
      (name): [string, string] => [name, REVERSED],
    ),
  )
  const withQuery = PAGES.map((path) => `${path}?${query}`)
  for (const path of [
    ...PAGES,
    ...withQuery,
    '/console/route?name=test/a',
    `/console/docs?${query}`,
    `/console/${HOSTILE}`,
  ]) {
    const { text, status } = await send(managementUrl + path, { headers: { accept: 'text/html' } })
    t.ok(status === 200 || status === 404, `${path} ${status}`)
    t.notMatch(text, /<script>alert|[\u202e\u2067]/, path)
  }
  t.match((await send(`${managementUrl}/console/route?name=test/a`)).text, '&#60;script&#62;alert(1)')
})

t.test('the console shows why the policies on the disk are not active', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const { managementUrl } = gateway
  const file = join(t.testdirName, 'test.policy.yaml')
  const before = await send(`${managementUrl}/console/policies?format=json`)
  t.match(before.json, { routes: 12, failure: null, reload: 'manual', sources: [] })
  writeFileSync(
    file,
    `apiVersion: scopegate/v1\nkind: Policy\nname: test\nupstream: api\ntimout: '${HOSTILE}'\nroutes: []\n`,
  )
  renameSync(file, join(t.testdirName, '<img src=x>.policy.yaml'))
  await gateway.reload('endpoint')

  t.match((await send(`${managementUrl}/?format=json`)).json, {
    policies: { areActive: false, reloads: { success: 0, failure: 1 } },
  })
  const after = await send(`${managementUrl}/console/policies?format=json`)
  t.match(after.json, {
    routes: 12,
    failure: { errors: { first: { code: 'P101', place: /<img src=x>\.policy\.yaml:5:1$/ }, text: /timout/ } },
  })
  t.equal(after.json['hash'], before.json['hash'])
  const page = await send(`${managementUrl}/console/policies`)
  t.match(page.text, 'The policies on the disk are not active')
  t.match(page.text, '/console/docs?name=errors%2FP101.md')
  t.match((await send(`${managementUrl}/console/docs?name=errors/P101.md`)).text, 'P101: unknown key')
  for (const name of ['../package.json', 'errors/../../package.json', '/etc/passwd', 'runbooks/X.md', ''])
    t.equal((await send(`${managementUrl}/console/docs?${new URLSearchParams({ name })}`)).status, 404, name)

  const overview = await until('the overview shows the problem', async () => {
    const { json } = await send(`${managementUrl}/?format=json`)
    const [problem] = json['problems'] as readonly object[]
    return problem
  })
  t.match(overview, {
    state: 'notice',
    title: 'policies',
    href: '/console/policies',
    place: /policy\.yaml:5:1$/,
  })
  t.match((await send(managementUrl)).text, /<h3>Policies<\/h3><p class="number">not active</)
  for (const path of ['/', '/console/policies'])
    t.notMatch((await send(managementUrl + path)).text, /<img|<script>alert/)
})

t.test('management.console: false removes the console, but not the other endpoints', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, management: { ...config.management, console: false } }),
  })
  for (const path of PAGES) t.equal((await send(gateway.managementUrl + path)).status, 404, path)
  t.equal((await send(`${gateway.managementUrl}/policies`)).status, 200)
})

t.test('live updates end when the gateway begins to drain', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const response = await fetch(`${gateway.managementUrl}/?format=events`, {
    headers: { accept: 'text/event-stream' },
  })
  const closed = gateway.close()
  t.match(await response.text(), /^retry: 5000/)
  await closed
})
