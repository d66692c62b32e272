import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { stringify } from 'yaml'
import { fetchLivePolicies } from '../../cli/live-policies.ts'
import { decisionOf } from '../../gateway/observability/decision.ts'
import { type SimulatedRequest, type Simulation, simulate } from '../../gateway/simulate/simulate.ts'
import { isReservedPath } from '../../policy-engine/match/reserved-paths.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'

/**
 * Number of generated requests in `npm run fuzz`. The test sends each request to a gateway and to the simulation of
 * `explain` and `test`. Both must return the same result.
 */
const FUZZ_REQUESTS = process.env['FUZZ_AGREEMENT_REQUESTS']
/**
 * The seed of the generated requests. `npm run fuzz` uses random seeds. All other runs send the same requests, which
 * cover every result.
 */
const SEED = FUZZ_REQUESTS === undefined ? { seed: 1 } : {}
const REQUESTS = Number(FUZZ_REQUESTS ?? 4_000)
/** Number of different tokens. Several requests use each token, so most validations are cache hits. */
const TOKENS = 500
const CONNECTIONS = 16
/** Time limit of the test. An idle machine needs a few seconds, but a busy machine needs more time. Milliseconds. */
const LIMIT_MS = 120_000 + 30 * REQUESTS
/**
 * Limit for the length of a target. The limit is low, so that some generated targets exceed it before or after a
 * rewrite. Bytes.
 */
const TARGET_LIMIT_BYTES = 48
/** Default limit for the body of a request. Bytes. */
const BODY_LIMIT_BYTES = 64
const ROUTE_BODY_LIMIT_BYTES = 16
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
    bodyLimit: fc.constant(`${ROUTE_BODY_LIMIT_BYTES}B`),
    cors: fc.record(
      {
        origins: fc.constantFrom(['https://page.test'], ['https://other.test'], ['*'], []),
        methods: fc.constantFrom(['GET'], ['GET', 'POST']),
        headers: fc.constantFrom(['x-tenant'], []),
      },
      { requiredKeys: ['origins'] },
    ),
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

/** Similar routes. For these routes, each rule of route matching can change the selected route. */
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
  { methods: ['GET', 'POST'], path: '/stations/{id}', mount: '/trains' },
  { methods: ['GET'], path: '/**' },
] as const

type Match = {
  readonly methods: readonly string[]
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly mount?: string
}

type Cors = { readonly origins: readonly string[]; readonly methods?: readonly string[] }

/** Returns `cors` with only the methods that the route also has. A policy with another method would be invalid. */
function narrowed(cors: Cors, { methods: all }: Match): Cors {
  const { methods, ...rest } = cors
  const kept = methods?.filter((one) => all.includes(one)) ?? []
  return kept.length === 0 ? rest : { ...rest, methods: kept }
}

const policy = fc.tuple(...MATCHES.map(() => routeRules)).map((rules) => ({
  apiVersion: 'scopegate/v1',
  kind: 'Policy',
  name: 'test',
  upstream: 'api',
  routes: MATCHES.map(({ mount, ...match }: Match, index) => {
    const { rewrite, when, cors, ...rule } = rules[index] ?? { anonymous: 'deny' }
    const isRewritten = rewrite === 'plain' && match.path !== '/**'
    return {
      name: `route-${index}`,
      match,
      ...(mount === undefined ? {} : { mount }),
      ...rule,
      ...(cors === undefined ? {} : { cors: narrowed(cors, match) }),
      // A route with conditions requires a token, because a caller without a token has no claims.
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
    '/trains/stations/7',
    '/trains/stations',
    '/stations/7',
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
  ['access-control-request-method', 'POST'],
  ['access_control_request_method', 'GET'],
  ['access-control-request-headers', 'X-Tenant, x-other'],
  ['connection', 'access-control-request-method'],
  ['Connection', 'close, X-Tenant'],
  ['connection', 'mcp-name'],
  ['origin', 'https://page.test'],
  ['origin', 'https://elsewhere.test'],
  ['dpop', 'no proof'],
) as fc.Arbitrary<readonly [string, string]>

const nowSeconds = Math.floor(Date.now() / 1_000)
const token = fc.record(
  {
    scope: fc.uniqueArray(fc.constantFrom(...SCOPES, 'unknown')).map((scopes) => scopes.join(' ')),
    aud: fc.constantFrom(
      BASE_URL,
      `${BASE_URL}/`,
      `${BASE_URL}/mcp`,
      [BASE_URL, `${BASE_URL}/mcp`],
      'https://other.test',
      [BASE_URL, 'https://other.test'],
    ),
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
    cnf: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      {
        weight: 2,
        arbitrary: fc.constantFrom({ jkt: 'A'.repeat(43) }, { 'x5t#S256': 'A'.repeat(43) }, { kid: 'key-1' }),
      },
    ),
    sub: fc.constantFrom('alice', 'bob'),
    school_id: fc.constantFrom('a', 'b', 'full', ['b', 'a'], null, { a: 'a' }),
    level: fc.constantFrom(3, '3', true),
    realm: fc.constantFrom({ roles: ['user', 'admin'] }, { roles: 'admin' }, { roles: [] }, 'admin'),
  },
  { requiredKeys: ['scope'] },
)
/** A request, the index of its token in the list of tokens, and the length of its body in bytes. */
const trial = fc.record({
  method: fc.constantFrom(
    ...['GET', 'GET', 'GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'OPTIONS', 'TRACE'],
    'QUERY',
  ),
  target,
  headers: fc.array(header, { maxLength: 4 }),
  token: fc.option(fc.nat(TOKENS - 1), { nil: undefined, freq: 3 }),
  bodyBytes: fc.option(
    fc
      .tuple(fc.constantFrom(ROUTE_BODY_LIMIT_BYTES, BODY_LIMIT_BYTES), fc.integer({ min: -1, max: 1 }))
      .map(([limit, more]) => limit + more),
    { nil: undefined, freq: 2 },
  ),
})

type Trial = typeof trial extends fc.Arbitrary<infer T> ? T : never

/** The parts of a response, of its access log line and of the forwarded request that a simulation predicts. */
type Outcome = {
  readonly status: number | undefined
  readonly error: string | undefined
  readonly challenge: string | undefined
  readonly allowedOrigin: string | undefined
  readonly route: string | undefined
  readonly decision: string
  readonly would: string
  readonly upstreamPath: string | undefined
  readonly subject: string | undefined
}

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
t.teardown(() => agent.destroy())

async function send({ hostname, port }: URL, one: Trial, headers: readonly string[]) {
  const { method, target, bodyBytes } = one
  const outgoing = request({ agent, hostname, port, method, path: target, headers: [...headers] })
  outgoing.end('x'.repeat(bodyBytes ?? 0))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

function predict({ decision, response, caller }: Simulation, method: string): Outcome {
  const { rejection, auditOnlyDenial, as, route, upstreamPath, preflight } = decision
  const isAllowed = as === 'token' || as === 'anonymous'
  // Whether the body is above the limit. The gateway checks this limit only after it has allowed the caller, so the log
  // line contains `allow`.
  const isAboveLimit = rejection !== undefined && route !== undefined && decisionOf(rejection) === undefined
  const allowed = `allow ${caller === undefined ? 'anonymous' : 'ok'}`
  return {
    status: response?.status ?? (as === 'gateway' ? 204 : 200),
    error: method === 'HEAD' ? undefined : response?.error,
    challenge: withoutMinutes(response?.challenge),
    allowedOrigin: preflight?.decision.origin,
    route: route?.policy.name,
    decision: isAllowed || isAboveLimit ? allowed : label(rejection && decisionOf(rejection)),
    would: label(auditOnlyDenial && decisionOf(auditOnlyDenial)),
    upstreamPath,
    subject: as === 'token' ? caller?.subject : undefined,
  }
}

/** Removes the age of an expired token, because the age increases during the test. */
function withoutMinutes(challenge: string | undefined): string | undefined {
  return challenge?.replace(/expired \d+ minutes ago/, 'expired some minutes ago')
}

function label(decision: ReturnType<typeof decisionOf>): string {
  return decision === undefined ? '-' : `${decision.decision} ${decision.reason}`
}

t.test(
  'a gateway sends the responses and makes the decisions that the simulation predicts, for generated requests',
  { timeout: LIMIT_MS },
  async (t) => {
    t.intercept(Date, 'now', { value: () => nowSeconds * 1_000 }) // the gateway and the simulation use this time
    const [content] = fc.sample(policy, { ...SEED, numRuns: 1 })
    const world = await startGatewayUnderTest(t, {
      policy: stringify(content, { aliasDuplicateObjects: false }),
      change: (config) => ({
        ...config,
        resources: [{ path: '/mcp' }],
        limits: {
          ...config.limits,
          targetBytes: TARGET_LIMIT_BYTES,
          bodyBytes: BODY_LIMIT_BYTES,
          tokenBytes: 64,
        },
      }),
    })
    const url = new URL(world.gateway.url)
    const live = await fetchLivePolicies(world.gateway.managementUrl)
    const claims = fc.sample(token, { ...SEED, numRuns: TOKENS }).map((one) => ({
      iss: BASE_URL,
      aud: BASE_URL,
      sub: 'user-1',
      client_id: 'client-1',
      exp: nowSeconds + 900,
      ...one,
    }))
    const tokens = claims.map((one, index) => world.issuer.store(`token-${index}`, one))
    // Excludes the path `/`, because the gateway itself responds to it.
    const trials = fc
      .sample(trial, { ...SEED, numRuns: REQUESTS })
      .filter((one) => !/^\/(\?|$)/.test(one.target))
    const predicted: Simulation[] = []
    const received: Awaited<ReturnType<typeof send>>[] = []
    const queue = trials.entries()

    async function sendNext(): Promise<void> {
      for (const [index, one] of queue) {
        const { method, target, token: at, bodyBytes } = one
        const length = bodyBytes === undefined ? [] : [['content-length', String(bodyBytes)] as const]
        const headers = [...one.headers, ...length]
        const simulated: SimulatedRequest = {
          method,
          target,
          headers,
          claims: at === undefined ? undefined : claims[at],
          isCompleted: false,
        }
        predicted[index] = simulate(simulated, live, nowSeconds)
        const credential = at === undefined ? [] : ['authorization', `Bearer ${tokens[at]}`]
        const own = ['host', new URL(BASE_URL).host, 'x-case', String(index), ...credential]
        received[index] = await send(url, one, [...headers.flat(), ...own])
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, sendNext))

    const forwarded = new Map(
      world.upstream.requests.map((one) => [
        Number(one.headers.find(([name]) => name === 'x-case')?.[1]),
        one,
      ]),
    )
    const lines = await until('the access lines', async () => {
      const found = world.log().filter(({ event }) => event === 'access')
      return found.length === trials.length && found
    })
    const lineOf = new Map(lines.map((line) => [line['request_id'], line]))
    const outcomes = new Map<string, number>()
    const differ: unknown[] = []
    for (const [index, one] of trials.entries()) {
      const simulation = predicted[index] as Simulation
      const response = received[index] as Awaited<ReturnType<typeof send>>
      const line = lineOf.get(response.headers['x-request-id']) ?? {}
      const upstream = forwarded.get(index)
      const { decision, request } = simulation
      if (request !== undefined && isReservedPath(request.canonical.path)) {
        const isSame =
          decision.rejection === undefined
            ? decision.as === 'gateway'
            : simulation.response?.status === response.status &&
              simulation.response?.allow?.join(', ') === response.headers['allow']
        if (!isSame || upstream !== undefined) differ.push({ one, decision, upstream })
        continue
      }
      const route = String(line['route'])
      const seen: Outcome = {
        status: response.status,
        error: /"error":"(\w+)"/.exec(response.body)?.[1],
        challenge: withoutMinutes(response.headers['www-authenticate']),
        allowedOrigin: decision.preflight && response.headers['access-control-allow-origin'],
        route: route.startsWith('test/') ? route : undefined,
        decision: `${line['auth.decision'] ?? '-'} ${line['auth.reason'] ?? ''}`.trim(),
        would: `${line['auth.would'] ?? '-'} ${line['auth.would_reason'] ?? ''}`.trim(),
        upstreamPath: upstream?.target.split('?')[0],
        subject: upstream?.headers.find(([name]) => name === 'x-auth-subject')?.[1],
      }
      const wanted = predict(simulation, one.method)
      for (const kind of [String(wanted.status), wanted.decision, `would ${wanted.would}`])
        outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
      if (JSON.stringify(seen) !== JSON.stringify(wanted)) differ.push({ one, seen, wanted })
    }
    t.same(differ.slice(0, 5), [], `${differ.length} differences`)
    const all = JSON.stringify([...outcomes])
    for (const status of ['200', '204', '400', '401', '403', '404', '405', '413', '414'])
      t.ok(outcomes.has(status), `${status} among ${all}`)
    for (const reason of ['expired', 'wrong_audience', 'insufficient_scope', 'condition', 'invalid_token'])
      t.ok(outcomes.has(`deny ${reason}`), `${reason} among ${all}`)
    for (const would of ['deny insufficient_scope', 'deny condition'])
      t.ok(outcomes.has(`would ${would}`), `${would} among ${all}`)
  },
)
