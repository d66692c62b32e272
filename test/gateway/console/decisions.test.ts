import { connect } from 'node:net'
import t from 'tap'
import { main } from '../../../cli/main.ts'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'
import { parseObject, send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: shop
owner: team-shop
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: read, match: { methods: [GET], path: "/api/items/{id}" }, scopes: { all: [courses:read] } }
  - name: own
    match: { methods: [GET], path: /api/own }
    when:
      - claim: school
        equals: north
  - { name: trial, match: { methods: [GET], path: /api/trial }, scopes: { all: [courses:read] }, enforce: report }
  - { name: open, match: { methods: [GET, POST], path: /api/open }, anonymous: allow }
`
const LINE_OF_READ = 8
const LINE_OF_CONDITION = 12

type Decision = Readonly<Record<string, unknown>> & {
  readonly place: { readonly file: string; readonly line: number }
  readonly fix: { readonly client: string; readonly policyOwner: string }
}

async function findDecisions(managementUrl: string, id: string | null): Promise<readonly Decision[]> {
  const { status, json } = await send(`${managementUrl}/console/decision?id=${id}&format=json`)
  if (status !== 200) throw new Error(String(status))
  return json['decisions'] as readonly Decision[]
}

async function listDecisions(managementUrl: string, query = ''): Promise<readonly Decision[]> {
  const { json } = await send(`${managementUrl}/console/decisions?format=json&${query}`)
  return json['decisions'] as readonly Decision[]
}

t.test('the console finds a denial by its request ID, although the console was closed', async (t) => {
  const { gateway, issuer } = await startGatewayUnderTest(t, { policy: POLICY })
  const { url, managementUrl } = gateway
  const token = issuer.store('secret-token-of-shop', {
    client_id: 'shop-app',
    sub: 'subject-of-shop',
    scope: 'posts:read',
  })
  const denied = await send(`${url}/api/items/7?note=query-of-client`, { token })
  t.equal(denied.status, 403)
  const id = denied.headers.get('x-request-id')

  const [decision, ...others] = await findDecisions(managementUrl, id)
  t.strictSame(others, [])
  t.match(decision, {
    outcome: 'deny',
    status: 403,
    code: 'scope_missing',
    route: 'shop/read',
    client: 'shop-app',
    asked:
      /^GET \/api\/items\/7, with a token of client shop-app for subject \S+ Scopes of the token: posts:read\.$/,
    rule: 'scopes: the token lacks courses:read. The route requires all of: courses:read.',
    place: { file: /test\.policy\.yaml$/, line: LINE_OF_READ },
    response: { status: 403, error: 'insufficient_scope', challenge: denied.headers.get('www-authenticate') },
    fix: {
      client: /Request a token with the scopes courses:read/,
      policyOwner: /change `scopes` of the route shop\/read/,
    },
  })
  const explained = await send(`${managementUrl}${decision?.['explain']}&format=json`)
  t.match(explained.json, { result: { explanation: { decision: 'deny', answer: { status: 403 } } } })

  const page = await send(`${managementUrl}/console/decision?id=${id}`)
  t.match(page.text, `test.policy.yaml:${LINE_OF_READ}:`)
  t.match(page.text, 'Request a token with the scopes courses:read')
  for (const text of [page.text, JSON.stringify(decision)]) {
    t.notMatch(text, 'secret-token-of-shop')
    t.notMatch(text, 'query-of-client')
    t.notMatch(text, 'subject-of-shop', 'log.subject is hashed')
  }
})

t.test(
  'the console names the line of a failed condition, and marks denials that were not applied',
  async (t) => {
    const { gateway, issuer } = await startGatewayUnderTest(t, { policy: POLICY })
    const { url, managementUrl } = gateway
    const token = issuer.store('token-of-south', { school: 'south' })
    const denied = await send(`${url}/api/own`, { token })
    t.match(await findDecisions(managementUrl, denied.headers.get('x-request-id')), [
      { code: 'condition_failed', place: { line: LINE_OF_CONDITION }, rule: /^when: school equals "north"/ },
    ])
    const reported = await send(`${url}/api/trial`)
    t.equal(reported.status, 200)
    t.match(await findDecisions(managementUrl, reported.headers.get('x-request-id')), [
      { outcome: 'report', status: 200, code: 'token_missing', response: { status: 401 } },
    ])
  },
)

t.test('the console records allowed requests only while a page shows decisions', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, { policy: POLICY })
  const { url, managementUrl } = gateway
  const isRecorded = async (): Promise<boolean> => {
    const allowed = await send(`${url}/api/open`)
    return (await findDecisions(managementUrl, allowed.headers.get('x-request-id'))).length === 1
  }
  t.equal(await isRecorded(), false)
  const stop = new AbortController()
  const stream = await fetch(`${managementUrl}/console/decisions?format=events`, {
    headers: { accept: 'text/event-stream' },
    signal: stop.signal,
  })
  t.equal(stream.status, 200)
  t.equal(await isRecorded(), true)
  let received = ''
  for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    received += chunk
    if (/event: page\ndata: .*\/api\/open/.test(received)) break
  }
  t.match(received, 'event: page')
  stop.abort()
  await until('the end of the recording', async () => !(await isRecorded()))
})

t.test('the list has a filter for each property of a decision', async (t) => {
  const { gateway, issuer } = await startGatewayUnderTest(t, { policy: POLICY })
  const { url, managementUrl } = gateway
  const token = issuer.store('token-of-app', { client_id: 'app-1', scope: 'posts:read' })
  await send(`${url}/api/items/7`, { token })
  t.match((await send(`${managementUrl}/console/decisions`)).text, '1 decision of 1 recorded.')
  await send(`${url}/api/own`)
  await send(`${url}/nothing`, { method: 'POST' })
  const [all] = [await listDecisions(managementUrl)]
  t.strictSame(
    all.map(({ path }) => path),
    ['/nothing', '/api/own', '/api/items/7'],
  )
  for (const [query, paths] of [
    ['outcome=deny', ['/api/items/7']],
    ['outcome=reject', ['/nothing']],
    ['status=404', ['/nothing']],
    ['status=4xx', ['/nothing', '/api/own', '/api/items/7']],
    ['status=5xx', []],
    ['code=scope_missing', ['/api/items/7']],
    ['code=insufficient_scope', ['/api/items/7']],
    ['route=shop/own', ['/api/own']],
    ['file=test.policy', ['/api/own', '/api/items/7']],
    ['client=app-1', ['/api/items/7']],
    ['client=127.0.0.1', ['/nothing', '/api/own', '/api/items/7']],
    [`subject=${all[2]?.['subject']}`, ['/api/items/7']],
    ['method=post', ['/nothing']],
    ['path=/items/', ['/api/items/7']],
    ['path=/items/&method=POST', []],
  ] as const)
    t.strictSame(
      (await listDecisions(managementUrl, query)).map(({ path }) => path),
      paths,
      query,
    )
})

t.test('the pages escape all values of requests, and reject pages of other origins', async (t) => {
  const { gateway, issuer, raw } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, log: { ...config.log, subject: 'plain' } }),
  })
  const { url, managementUrl } = gateway
  const attack = '"><script>alert(1)</script>'
  const token = issuer.store('token-of-attacker', { client_id: attack, sub: attack, scope: '' })
  const denied = await send(`${url}/api/items/${encodeURIComponent('"><img src=x onerror=alert(1)>')}`, {
    token,
  })
  await raw('\u0001<script>alert(1)</script> / HTTP/1.1\r\n\r\n')
  const id = denied.headers.get('x-request-id')
  const [decision] = await findDecisions(managementUrl, id)
  t.equal(decision?.['client'], attack)
  const query = encodeURIComponent(attack)
  for (const address of [
    '/console/decisions',
    `/console/decisions?path=${query}&outcome=${query}`,
    `/console/decision?id=${id}`,
    `/console/decision?id=${query}`,
    String(decision?.['explain']),
    `/console/explain?method=${query}&path=${query}&token=valid&claims=${query}&headers=${query}&scopes=${query}`,
    `/console/explain?path=/api/open&token=valid&claims=a%3D${query}&headers=b%3D${query}`,
  ]) {
    const page = await send(`${managementUrl}${address}`)
    t.equal(page.status, 200, address)
    t.notMatch(page.text, /<(script>alert|img)/, address)
    t.match(page.headers.get('content-security-policy'), /script-src 'sha256-/)
  }
  t.match((await listDecisions(managementUrl, 'code=request_malformed'))[0], { method: null, path: null })
  const accept = 'text/event-stream'
  const foreign = { origin: 'https://evil.example', accept }
  t.equal((await send(`${managementUrl}/console/decisions?format=events`, { headers: foreign })).status, 403)
  t.equal(await statusForHost(managementUrl, 'evil.example'), 421)
})

/** `fetch` cannot set the header `Host`. */
async function statusForHost(managementUrl: string, host: string): Promise<number> {
  const { hostname, port } = new URL(managementUrl)
  const socket = connect(Number(port), hostname)
  socket.end(`GET /console/decisions?format=events HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let received = ''
  for await (const chunk of socket) received += String(chunk)
  return Number(received.slice(9, 12))
}

t.test('the page of a decision shows each request with the same request ID of a trusted proxy', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'] }),
  })
  const headers = { 'x-request-id': 'same-id' }
  await send(`${gateway.url}/api/own`, { headers })
  await send(`${gateway.url}/nothing`, { headers })
  t.match(await findDecisions(gateway.managementUrl, 'same-id'), [{ status: 404 }, { status: 401 }])
  t.match((await send(`${gateway.managementUrl}/console/decision?id=same-id`)).text, 'occurs 2 times')
  t.match((await send(`${gateway.managementUrl}/console/decision?id=other`)).text, 'has no record')
  for (const query of ['', '?id=', '?id=+'])
    t.match((await send(`${gateway.managementUrl}/console/decision${query}`)).text, 'Write a request ID')
})

t.test('the console explains requests as `scopegate explain --url`', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, { policy: POLICY })
  const { managementUrl } = gateway
  for (const [method, path, token] of [
    ['GET', '/api/items/7', undefined],
    ['GET', '/api/items/7', 'courses:read'],
    ['HEAD', '/api/items/7', 'posts:read'],
    ['GET', '/api/own', ''],
    ['GET', '/api/trial', undefined],
    ['DELETE', '/api/open', undefined],
    ['OPTIONS', '/api/open', undefined],
    ['GET', '/openapi.json', undefined],
    ['POST', '/openapi.json', undefined],
    ['GET', '/oauth/token', undefined],
    ['GET', '/api/opne', undefined],
    ['GET', '//x', undefined],
    ['GET', '/api/open?access_token=x', undefined],
  ] as const) {
    const terminal = aTerminal()
    const scope = token === undefined ? [] : ['--scope', token]
    await main(['explain', method, path, ...scope, '--json', '--url', managementUrl], terminal)
    const query = new URLSearchParams({ method, path, format: 'json' })
    if (token !== undefined) query.set('token', 'valid')
    if (token !== undefined) query.set('scopes', token)
    const { json } = await send(`${managementUrl}/console/explain?${query}`)
    const { explanation } = json['result'] as { readonly explanation: object }
    t.strictSame(withoutTimes(explanation), withoutTimes(parseObject(terminal.said.out)), `${method} ${path}`)
  }
  const withoutToken = 'A request without a token has no scopes and no claims: select a valid token.'
  for (const [query, problem] of [
    ['path=/api/open&scopes=courses:read', withoutToken],
    ['path=/api/open&claims=sub%3Dx&token=none', withoutToken],
    ['path=/&claims=x&token=valid', 'A claim takes NAME=VALUE, not "x".'],
    ['path=/&headers=host%3Dx', 'A header host is not possible: set scopes or claims instead.'],
    ['path=/&method=a b', '"a b" is not an HTTP method; example: GET /api/courses.'],
    ['path=/api/own&token=valid&claims=scope%3D1', 'The claims are not valid in a token'],
  ] as const) {
    const { json } = await send(`${managementUrl}/console/explain?${query}&format=json`)
    t.match(json, { result: { problem } }, query)
  }
})

/** The two explanations can be in different seconds. */
function withoutTimes(explanation: object): unknown {
  return JSON.parse(JSON.stringify(explanation, (key, value) => (key === 'expiresAt' ? null : value)))
}
