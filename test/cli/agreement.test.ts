import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { stringify } from 'yaml'
import { fetchLivePolicies } from '../../cli/live-policies.ts'
import { type SimulatedRequest, type Simulation, simulate } from '../../cli/simulate/simulate.ts'
import { isReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'

/** `explain` and `test` agree with a gateway: generated requests run over real sockets and in the simulation. */
const FUZZ_REQUESTS = process.env['FUZZ_AGREEMENT_REQUESTS']
/** Number of random runs. Without it, every run uses the same policy and requests, which cover every outcome. */
const SEED = FUZZ_REQUESTS === undefined ? { seed: 1 } : {}
const REQUESTS = Number(FUZZ_REQUESTS ?? 1_500)
/** In bytes. Short, so that a few more segments exceed it, before or after a rewrite. */
const TARGET_LIMIT_BYTES = 48
const SCOPES = ['courses:read', 'courses:write', 'posts:read', 'pages:read', 'orders:read']

const someScopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 3 })
const scopeRule = fc.oneof(
  someScopes.map((all) => ({ all })),
  someScopes.map((any) => ({ any })),
  fc.tuple(someScopes, someScopes).map(([all, any]) => ({ all, any })),
)
const routeRules = fc.record(
  {
    anonymous: fc.constantFrom('allow', 'challenge', 'deny'),
    scopes: scopeRule,
    rewrite: fc.constantFrom('plain', 'none'),
    enforce: fc.constantFrom('on', 'on', 'report'),
    when: fc.uniqueArray(
      fc.constantFrom(
        { claim: 'school_id', equals: '{header.x-tenant}' },
        { claim: 'school_id', in: ['a', '{query.view}'] },
        { claim: '/realm/roles', matches: 'adm*' },
        { claim: 'sub', exists: true },
        { claim: 'level', equals: 3 },
      ),
      { minLength: 1, maxLength: 2, selector: ({ claim }) => claim },
    ),
  },
  { requiredKeys: ['anonymous'] },
)

/** Similar routes, so that the selected route depends on every rule of matching. */
const MATCHES = [
  { methods: ['GET'], path: '/api/things' },
  { methods: ['POST', 'PUT'], path: '/api/things' },
  { methods: ['GET', 'DELETE'], path: '/api/things/{id}' },
  { methods: ['PATCH'], path: '/api/things/{id}' },
  { methods: ['GET'], path: '/api/things/special' },
  { methods: ['GET', 'OPTIONS'], path: '/api/things/{id}/parts/{part}' },
  { methods: ['GET', 'POST'], path: '/api/things/{id}/**' },
  { methods: ['GET', 'POST'], path: '/api/files/**' },
  { methods: ['GET'], path: '/api/files/readme' },
  { methods: ['POST', 'OPTIONS'], path: '/mcp' },
  { methods: ['GET', 'OPTIONS'], path: '/api/hooks' },
  { methods: ['POST'], path: '/mcp', headers: { 'mcp-method': 'tools/call' } },
  { methods: ['POST'], path: '/mcp', headers: { 'mcp-method': 'tools/call', 'mcp-name': 'erase' } },
  { methods: ['GET'], path: '/api/tenants', headers: { 'x-tenant': 'a' } },
  { methods: ['GET'], path: '/api/tenants', headers: { 'x-tenant': 'b' } },
  { methods: ['GET'], path: '/**' },
] as const

const policy = fc.tuple(...MATCHES.map(() => routeRules)).map((rules) => ({
  apiVersion: 'scopegate/v1',
  kind: 'Policy',
  name: 'test',
  upstream: 'api',
  routes: MATCHES.map((match, index) => {
    const { rewrite, when, ...rule } = rules[index] ?? { anonymous: 'deny' }
    const isRewritten = rewrite === 'plain' && match.path !== '/**'
    return {
      name: `route-${index}`,
      match,
      ...rule,
      // A caller without a token has no claims.
      ...(when !== undefined && rule.anonymous !== 'allow' ? { when } : {}),
      ...(isRewritten ? { rewrite: { path: `/internal${match.path.replace('/api', '')}` } } : {}),
    }
  }),
}))

const target = fc.oneof(
  fc.constantFrom(
    '/api/things',
    '/api/things/42',
    '/api/things/special',
    '/api/things/42/parts/7',
    '/api/things/42/x/y',
    '/api/files',
    '/api/files/',
    '/api/files/readme',
    '/api/files/a/b',
    '/mcp',
    '/api/tenants',
    '/elsewhere',
    '/api/things/',
    '/API/things',
    '/api/%74hings',
    '/api/things/%2F',
    '/api//things',
    '/api/things/..',
    '/api/things/a%20b',
    '/api/things/%zz',
    '/api/things/a;b',
    '/api\\things',
    `${BASE_URL}/api/things`,
    '/api/things?access_token=x',
    '/api/things?access%5Ftoken=x',
    '/api/things?view=full&view=short',
    '/api/things?view=full',
    '/api/tenants?view=b',
    '/mcp?view=a',
    '/api/hooks',
    '/auth.md',
    '/oauth/elsewhere',
  ),
  fc
    .tuple(
      fc.constantFrom('/api/files/', '/api/things/42/', '/api/things/'),
      fc.integer({ min: 20, max: 50 }),
    )
    .map(([start, length]) => start.padEnd(length, 'x')),
  fc
    .array(fc.constantFrom('api', 'things', 'files', 'special', '42', 'parts', '%41', '%2e', 'x'), {
      maxLength: 5,
    })
    .map((parts) => `/${parts.join('/')}`),
)
const header = fc.constantFrom(
  ['mcp-protocol-version', '2026-07-28'],
  ['MCP-Protocol-Version', '2026-07-28'],
  ['mcp-protocol-version', 'yesterday'],
  ['mcp-method', 'tools/call'],
  ['Mcp-Method', 'tools/list'],
  ['mcp-name', 'erase'],
  ['mcp_name', 'erase'],
  ['x-tenant', 'a'],
  ['X-Tenant', 'b'],
  ['x_tenant', 'a'],
  ['x-auth-subject', 'root'],
  ['access-control-request-method', 'GET'],
  ['access_control_request_method', 'GET'],
  ['connection', 'access-control-request-method'],
  ['Connection', 'close, X-Tenant'],
  ['connection', 'mcp-name'],
  ['origin', 'https://page.test'],
) as fc.Arbitrary<readonly [string, string]>

const nowSeconds = Math.floor(Date.now() / 1_000)
const token = fc.record(
  {
    scope: fc.uniqueArray(fc.constantFrom(...SCOPES, 'unknown')).map((scopes) => scopes.join(' ')),
    aud: fc.constantFrom(BASE_URL, `${BASE_URL}/`, 'https://other.test', [BASE_URL, 'https://other.test']),
    iss: fc.oneof(
      { weight: 9, arbitrary: fc.constant(BASE_URL) },
      { weight: 1, arbitrary: fc.constant('https://other.test') },
    ),
    exp: fc.oneof(
      { weight: 9, arbitrary: fc.constant(nowSeconds + 900) },
      { weight: 1, arbitrary: fc.constant(nowSeconds - 1_800) },
    ),
    nbf: fc.oneof(
      { weight: 9, arbitrary: fc.constant(nowSeconds - 60) },
      { weight: 1, arbitrary: fc.constant(nowSeconds + 900) },
    ),
    sub: fc.constantFrom('alice', 'bob'),
    school_id: fc.constantFrom('a', 'b', 'full', ['b', 'a'], null, { a: 'a' }),
    level: fc.constantFrom(3, '3', true),
    realm: fc.constantFrom({ roles: ['user', 'admin'] }, { roles: 'admin' }, { roles: [] }, 'admin'),
  },
  { requiredKeys: ['scope'] },
)
const trial: fc.Arbitrary<SimulatedRequest> = fc.record({
  method: fc.constantFrom(
    'GET',
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'OPTIONS',
    'TRACE',
    'QUERY',
  ),
  target,
  headers: fc.array(header, { maxLength: 4 }),
  claims: fc.option(token, { nil: undefined, freq: 3 }),
  isCompleted: fc.constant(false),
})

const agent = new Agent({ keepAlive: true, maxSockets: 16 })
t.teardown(() => agent.destroy())

async function send(url: string, one: SimulatedRequest, more: readonly (readonly [string, string])[]) {
  const { hostname, port } = new URL(url)
  const headers = [...one.headers, ...more].flat()
  const outgoing = request({ agent, hostname, port, method: one.method, path: one.target, headers }).end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const body = await text(response)
  return { status: response.statusCode, headers: response.headers, body }
}

/** The response that a client receives for a simulation. */
function expected({ decision, answer }: Simulation, method: string) {
  if (answer === undefined)
    return { status: decision.as === 'gateway' ? 204 : 200, error: undefined, challenge: undefined }
  const error = method === 'HEAD' ? undefined : answer.error
  return { status: answer.status, error, challenge: answer.challenge }
}

t.test(
  'the simulation predicts the response of a gateway, for generated policies and requests',
  async (t) => {
    t.intercept(Date, 'now', { value: () => nowSeconds * 1_000 }) // for the gateway and for the simulation
    const [content] = fc.sample(policy, { ...SEED, numRuns: 1 })
    const world = await startGatewayUnderTest(t, {
      policy: stringify(content, { aliasDuplicateObjects: false }),
      change: (config) => ({ ...config, limits: { ...config.limits, targetBytes: TARGET_LIMIT_BYTES } }),
    })
    const live = await fetchLivePolicies(world.gateway.managementUrl)
    const outcomes = new Map<string, number>()
    const differ: unknown[] = []
    // The gateway serves `/` itself.
    const trials = fc
      .sample(trial, { ...SEED, numRuns: REQUESTS })
      .filter((one) => !/^\/(\?|$)/.test(one.target))
    await Promise.all(
      trials.map(async (one, index) => {
        const full = one.claims && {
          iss: BASE_URL,
          aud: BASE_URL,
          sub: 'user-1',
          client_id: 'client-1',
          exp: nowSeconds + 900,
          ...one.claims,
        }
        const tried = simulate({ ...one, claims: full }, live, nowSeconds)
        const credential =
          full === undefined
            ? []
            : [['authorization', `Bearer ${world.issuer.store(`token-${index}`, full)}`] as const]
        const host = ['host', new URL(BASE_URL).host] as const
        const got = await send(world.gateway.url, one, [host, ['x-case', String(index)], ...credential])
        const error = /"error":"(\w+)"/.exec(got.body)?.[1]
        const seen = { status: got.status, error, challenge: got.headers['www-authenticate'] }
        const wanted = expected(tried, one.method)
        outcomes.set(String(wanted.status), (outcomes.get(String(wanted.status)) ?? 0) + 1)
        const forwarded = world.upstream.requests.find(({ headers }) =>
          headers.some(([name, value]) => name === 'x-case' && value === String(index)),
        )
        if (tried.request !== undefined && isReservedPath(tried.request.canonical.path)) {
          if (tried.decision.as !== 'gateway' || forwarded !== undefined)
            differ.push({ one, tried, forwarded })
          return
        }
        if (JSON.stringify(seen) !== JSON.stringify(wanted)) differ.push({ one, full, seen, wanted })
        if (wanted.status !== 200) return
        const [path] = forwarded?.target.split('?') ?? []
        const subject = forwarded?.headers.find(([name]) => name === 'x-auth-subject')?.[1]
        const identity = tried.decision.as === 'token' ? String(full?.sub) : undefined
        if (path !== tried.decision.upstreamPath || subject !== identity)
          differ.push({ one, path, subject, wanted: [tried.decision.upstreamPath, identity] })
      }),
    )
    t.same(differ, [])
    for (const status of ['200', '204', '400', '401', '403', '404', '405', '414'])
      t.ok(outcomes.has(status), `${status} among ${JSON.stringify([...outcomes])}`)
  },
)
