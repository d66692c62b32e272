import t, { type Test } from 'tap'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { PATH_SPELLINGS } from '../fixtures/path-spellings.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { type StrictUpstream, startStrictUpstream } from '../fixtures/strict-upstream.ts'

/** A route that requires a token, and a path that the route matches. */
type ProtectedRoute = {
  readonly template: string
  readonly methods: readonly string[]
  readonly anonymous: 'challenge' | 'deny'
  readonly path: string
}

type Case = {
  readonly what: string
  readonly method: string
  readonly target: string
  readonly headers: string
  readonly hasToken: boolean
}

const TOKEN = 'a-good-token'
const AT_ONCE = 16

const ROUTES: readonly ProtectedRoute[] = [
  { template: '/admin', methods: ['GET', 'POST'], anonymous: 'deny', path: '/admin' },
  {
    template: '/admin/**',
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    anonymous: 'deny',
    path: '/admin/users/7',
  },
  { template: '/s', methods: ['GET'], anonymous: 'deny', path: '/s' },
  { template: '/docs/', methods: ['GET'], anonymous: 'challenge', path: '/docs/' },
  { template: '/api/v1/orders', methods: ['GET', 'POST'], anonymous: 'challenge', path: '/api/v1/orders' },
  {
    template: '/api/v1/orders/{order}',
    methods: ['GET', 'PUT', 'DELETE'],
    anonymous: 'challenge',
    path: '/api/v1/orders/o-1',
  },
  {
    template: '/api/v1/orders/{order}/lines/{line}',
    methods: ['GET', 'PATCH'],
    anonymous: 'deny',
    path: '/api/v1/orders/o-1/lines/l.2',
  },
  { template: '/api/v1/secrets/**', methods: ['GET'], anonymous: 'challenge', path: '/api/v1/secrets' },
  {
    template: '/files/{bucket}/**',
    methods: ['GET', 'PUT'],
    anonymous: 'deny',
    path: '/files/bucket-1/a/b/key.pem',
  },
  {
    template: '/reports/2024/q1/summary.json',
    methods: ['GET'],
    anonymous: 'challenge',
    path: '/reports/2024/q1/summary.json',
  },
  { template: '/caf%C3%A9/{id}', methods: ['GET', 'POST'], anonymous: 'challenge', path: '/caf%C3%A9/menu' },
  { template: '/a;v=1/b', methods: ['GET'], anonymous: 'deny', path: '/a;v=1/b' },
  {
    template: '/t/{tenant}/admin/{tool}/**',
    methods: ['GET', 'POST'],
    anonymous: 'deny',
    path: '/t/acme/admin/keys/rotate/now',
  },
]

/** Headers that forge an identity or a request target. */
const HEADERS: readonly string[] = [
  '',
  'X-Original-URL: /pub/x\r\nX-Rewrite-URL: /pub/x\r\n',
  'X-HTTP-Method-Override: GET\r\nX-Method-Override: HEAD\r\n',
  'X-Forwarded-Prefix: /pub\r\nX-Forwarded-Uri: /pub/x\r\nX-Forwarded-For: 127.0.0.1\r\n',
  'X-Auth-Subject: admin\r\nX_Auth_Subject: admin\r\nX-Auth-Scope: orders:read\r\n',
  'Connection: X-Auth-Subject, Authorization\r\nX-Auth-Subject: admin\r\n',
  'Cookie: session=admin; access_token=a-good-token\r\n',
  'Origin: http://api.test\r\nReferer: http://api.test/pub/x\r\nSec-Fetch-Site: same-origin\r\n',
  'Proxy-Authorization: Bearer a-good-token\r\n',
  'X-Authorization: Bearer a-good-token\r\nAuthorization2: Bearer a-good-token\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n',
  'Expect: 100-continue\r\n',
  'Range: bytes=0-0\r\nIf-None-Match: *\r\n',
  'User-Agent: kube-probe/1.30\r\n',
]
/** Invalid credentials in place of a token. */
// biome-ignore format: a table
const CREDENTIALS = [
  'Authorization: Basic YWRtaW46YWRtaW4=\r\n',
  'Authorization:\r\n',
  'Authorization: Bearer\r\n',
  'Authorization: Bearer nobody\r\n',
  'Authorization: Bearer a-good-token, Bearer nobody\r\n',
  'Authorization: Bearer a-good-token\r\nAuthorization: Bearer nobody\r\n',
]

const policy = (open: string) => `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
routes:
  - { name: open, match: { methods: [GET, POST, PUT, PATCH, DELETE], path: "${open}" }, anonymous: allow }
${ROUTES.map(({ template, methods, anonymous }, index) => `  - { name: protected-${index}, match: { methods: [${methods.join(', ')}], path: "${template}" }, anonymous: ${anonymous}, scopes: { all: [orders:read] } }`).join('\n')}
`

t.test(
  `${PATH_SPELLINGS.length} spellings of ${ROUTES.length} protected paths give no access without a token`,
  async (t) => {
    t.ok(PATH_SPELLINGS.length >= 60)
    const { under, upstream } = await start(t, '/pub/**')
    const cases = [...everySpelling(), ...everyHeader()]
    const statuses = await sendAll(under, cases)
    const { leaked, passed } = await judge(t, { under, upstream, cases, statuses }, isProtected)
    t.same(leaked, [], 'no protected path reached the upstream without a token')
    const authenticated = passed.filter((one) => one.hasToken).length
    t.ok(authenticated > ROUTES.length * 20, 'with a token, many spellings match the path')
    t.comment(
      `${cases.length} requests, ${passed.length} forwarded, ${authenticated} of them with a token, ${leaked.length} leaked`,
    )
  },
)

// In the worst case, a route opens all other paths. The gateway then forwards each spelling that does not match the
// protected route. By definition, `;` is part of a segment, and paths are case-sensitive.
t.test('with an open route for all paths, no spelling gives access to a protected path', async (t) => {
  const { under, upstream } = await start(t, '/**')
  const cases = everySpelling().filter((one) => !one.hasToken)
  const statuses = await sendAll(under, cases)
  const { leaked, passed } = await judge(t, { under, upstream, cases, statuses }, (path, method) =>
    // A route has paths and methods. By the policy, other methods match the open route.
    readings(path).some((reading) =>
      ROUTES.some(
        ({ template, methods }) =>
          methods.includes(method === 'HEAD' ? 'GET' : method) && matchesTemplate(template, reading),
      ),
    ),
  )
  t.same(leaked, [], 'no protected path reached the upstream without a token')
  t.comment(`${cases.length} requests, ${passed.length} forwarded as other paths, ${leaked.length} leaked`)
})

async function start(t: Test, open: string): Promise<{ under: GatewayUnderTest; upstream: StrictUpstream }> {
  const upstream = await startStrictUpstream()
  const under = await startGatewayUnderTest(t, {
    policy: policy(open),
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [upstream.url] } : one)),
    }),
  })
  t.teardown(() => upstream.close())
  under.issuer.store(TOKEN, { scope: 'orders:read' })
  return { under, upstream }
}

/** Returns every spelling of every path, with and without a token. Methods and headers alternate. */
function everySpelling(): Case[] {
  return ROUTES.flatMap((route, row) =>
    PATH_SPELLINGS.flatMap(([what, spell], column) => {
      const method = pick([...route.methods, 'HEAD'], row + column)
      const target = spell(route.path)
      const headers = pick([...HEADERS, ...CREDENTIALS], row * 5 + column)
      const withToken = `Authorization: Bearer ${TOKEN}\r\n${pick(HEADERS.slice(0, 5), row + column)}`
      return [
        { what, method, target, headers, hasToken: false },
        { what, method, target, headers: withToken, hasToken: true },
      ]
    }),
  )
}

/** Returns every path in its normal spelling, with every method and every header. */
function everyHeader(): Case[] {
  return ROUTES.flatMap(({ path, methods }) =>
    [...methods, 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'].flatMap((method) =>
      [...HEADERS, ...CREDENTIALS].map((headers) => ({
        what: 'itself',
        method,
        target: path,
        headers,
        hasToken: false,
      })),
    ),
  )
}

function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T
}

async function sendAll(
  under: GatewayUnderTest,
  cases: readonly Case[],
): Promise<readonly (readonly number[])[]> {
  const statuses: (readonly number[])[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < cases.length; index = next++) {
      const { method, target, headers } = cases[index] as Case
      const bytes = `${method} ${target} HTTP/1.1\r\nHost: api.test\r\nX-Case: ${index}\r\n${headers}Connection: close\r\n\r\n`
      statuses[index] = (await sendBytes(under.gateway.url, bytes)).statuses
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return statuses
}

async function judge(
  t: Test,
  run: {
    under: GatewayUnderTest
    upstream: StrictUpstream
    cases: readonly Case[]
    statuses: readonly (readonly number[])[]
  },
  isSecret: (path: string, method: string) => boolean,
): Promise<{ leaked: readonly string[]; passed: readonly Case[] }> {
  const { under, upstream, cases, statuses } = run
  await under.gateway.close()
  const logged = new Map(under.log().map((line) => [line['request_id'], line['url.path']]))
  const leaked: string[] = []
  const differs: string[] = []
  const passed: Case[] = []
  const seen = new Set<number>()
  for (const { target, headers } of upstream.requests) {
    const value = (name: string) => headers.find(([one]) => one === name)?.[1]
    const index = Number(value('x-case'))
    const one = cases[index] as Case
    const path = target.replace(/\?.*$/, '')
    if (seen.has(index)) differs.push(`forwarded twice: ${one.method} ${one.target}`)
    seen.add(index)
    passed.push(one)
    if (logged.get(value('x-request-id')) !== path)
      differs.push(`matched ${logged.get(value('x-request-id'))}, forwarded ${path}`)
    if (!one.hasToken && isSecret(path, one.method)) leaked.push(`${one.method} ${one.target} as ${target}`)
    if (!one.hasToken && headers.some(([name]) => /^x[-_.]auth[-_.]/.test(name)))
      leaked.push(`an identity with ${one.headers}`)
  }
  const odd = statuses.flatMap((list, index) => {
    const [status = 0] = list
    const good = list.length === 1 && (status === 200) === seen.has(index) && status < 500
    return good || (status === 204 && cases[index]?.method === 'OPTIONS')
      ? []
      : [`${cases[index]?.method} ${cases[index]?.target}: ${list}`]
  })
  t.same(odd, [], 'each request got one response: 200 if it was forwarded, below 500 if not')
  t.same(differs, [], 'the forwarded path equals the matched path, byte for byte')
  t.same(upstream.problems, [], 'every byte that was forwarded was well-formed')
  return { leaked, passed }
}

/** Returns whether a server can interpret the path as a protected path. Some servers ignore parameters or case. */
function isProtected(path: string): boolean {
  const careless = [path, path.toLowerCase()].flatMap((one) => [one, one.replace(/;[^/]*/g, '')])
  return careless
    .flatMap(readings)
    .some((reading) => ROUTES.some(({ template }) => matchesTemplate(template, reading)))
}

/**
 * Returns the paths that servers can read in `path`. Servers decode the path, resolve dots, merge slashes and replace
 * backslashes.
 */
function readings(path: string): string[] {
  const decoded = decodeURIComponent(path)
  const texts = [path, decoded, decoded.replaceAll('\\', '/')]
  return texts.flatMap((text) => {
    const merged = text.replace(/\/{2,}/g, '/')
    return [
      text,
      merged,
      resolveDots(merged),
      resolveDots(text),
      new URL(path, 'http://a').pathname,
      text.split('\0')[0] as string,
    ]
  })
}

function resolveDots(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/').slice(1)) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** Compares a template with a path, segment by segment. Does not use code of the gateway. */
function matchesTemplate(template: string, path: string): boolean {
  const below = template.endsWith('/**')
  const wanted = (below ? template.slice(0, -3) : template).split('/')
  const given = path.split('/')
  if (below ? given.length < wanted.length : given.length !== wanted.length) return false
  return wanted.every((segment, index) => {
    const one = given[index] as string
    return segment.startsWith('{') ? one !== '' : segment === one || decodeURIComponent(segment) === one
  })
}
