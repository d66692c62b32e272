import t from 'tap'
import { runSync } from '../../../platform/diagnostics/run-sliced.ts'
import { compilePolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { loadPolicySourcesSliced } from '../../../policy-engine/load/load-policy-sources.ts'
import type { PolicyFolder } from '../../../policy-engine/load/policy-sources.ts'
import type { UpstreamAddresses } from '../../../policy-engine/load/shared-services.ts'
import type { PolicySource, SourcePermissions } from '../../../policy-engine/load/source-permissions.ts'
import { testResources } from '../../fixtures/test-resources.ts'

const ALL: Omit<SourcePermissions, 'pathPrefixes'> = {
  upstreams: ['api'],
  addresses: [],
  scopes: ['*'],
  anonymous: true,
  forwardCredentials: false,
}

function aSource(
  name: string,
  pathPrefixes: readonly string[],
  permissions: Partial<SourcePermissions> = {},
): PolicySource {
  return {
    name,
    folder: `/nowhere/${name}`,
    owner: `team-${name}`,
    permissions: { ...ALL, upstreams: [`${name}-api`], ...permissions, pathPrefixes },
  }
}

function aFolder(text: string): PolicyFolder {
  return {
    folder: { names: ['team.policy.yaml'] },
    files: [{ name: 'team.policy.yaml', source: { text } }],
  }
}

const policyOf = (upstream: string, route: string, defaults = '{ anonymous: allow }') =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: p\nupstream: ${upstream}\ndefaults: ${defaults}\nroutes:\n  - { name: r, ${route} }\n`
const get = (path: string, more = '') => `match: { methods: [GET], path: ${JSON.stringify(path)} }${more}`

function load(
  sources: readonly PolicySource[],
  texts: Readonly<Record<string, string>>,
  addresses?: UpstreamAddresses,
) {
  const files = Object.entries(texts).map(([name, text]) => ({
    name,
    folder: `/nowhere/${name}`,
    current: aFolder(text),
    lastValid: undefined,
  }))
  return runSync(
    loadPolicySourcesSliced(files, sources, { upstreams: new Set(['a-api', 'b-api', 'api']), addresses }),
  )
}

function codesOf(
  source: PolicySource,
  route: string,
  others: readonly PolicySource[] = [],
  defaults?: string,
  addresses?: UpstreamAddresses,
) {
  const text = policyOf(source.permissions.upstreams[0] ?? 'api', route, defaults)
  const { states, diagnostics } = load([source, ...others], { [source.name]: text }, addresses)
  const errors = states[0]?.errors ?? []
  for (const { location } of errors) t.ok(location.line !== undefined && location.column !== undefined)
  return [...errors.map(({ code }) => code), diagnostics.length === errors.length ? '' : 'more']
    .join(' ')
    .trim()
}

t.test('a source owns its prefixes by whole segments', async (t) => {
  const source = aSource('a', ['/api/billing'])
  for (const path of [
    '/api/billing',
    '/api/billing/',
    '/api/billing/**',
    '/api/billing/{id}/x',
    '/api/billing/a;b',
  ])
    t.equal(codesOf(source, get(path)), '', path)
  for (const path of [
    '/api/billing-admin',
    '/api/billing;x/y',
    '/api/Billing',
    '/API/billing/x',
    '/api',
    '/api/**',
    '/api/{any}',
    '/{any}/billing/x',
    '/**',
    '/api/%62illing-x',
    '/other',
  ])
    t.match(codesOf(source, get(path)), /^P(401|108)$/, path)
  for (const path of [
    '/api/billing/../admin',
    '/api/billing/%2e%2e/admin',
    '/api/billing//x',
    '/api/billing/%2Fx',
  ])
    t.equal(codesOf(source, get(path)), 'P108', path)
})

t.test('a mount and required headers do not change the owner of a path', async (t) => {
  const source = aSource('a', ['/api/billing'])
  const b = aSource('b', ['/api/b'])
  t.equal(codesOf(source, get('/x', ', mount: /api/billing')), '')
  t.equal(codesOf(source, get('/api/billing/x', ', mount: /v1')), 'P401')
  t.equal(codesOf(source, get('/billing/x', ', mount: /api')), '')
  t.equal(codesOf(source, get('/x', ', mount: /api/b'), [b]), 'P401')
  t.equal(
    codesOf(source, 'match: { methods: [GET], path: /api/b/x, headers: { x-team: a } }', [b]),
    'P401',
    'a route with headers',
  )
})

t.test('a violation names the source and the owner of the path', async (t) => {
  const [a, b] = [aSource('a', ['/api']), aSource('b', ['/api/b'])]
  const { states } = load([a, b], { a: policyOf('a-api', get('/api/b/x')) })
  t.match(states[0]?.errors, [
    {
      code: 'P401',
      message: '"/api/b/x" belongs to source b (owner team-b)',
      location: { line: 7, column: 47 },
    },
  ])
})

t.test('a wide route does not match paths below the longer prefixes of other sources', async (t) => {
  const [a, b] = [aSource('a', ['/', '/api/b/own']), aSource('b', ['/api/b'])]
  const wide = policyOf('a-api', get('/**'))
  const { match, routesAt } = compile(load([a, b], { a: wide, b: policyOf('b-api', get('/api/b/{id}')) }))
  const name = (path: string, method = 'GET') => {
    const found = match(method, path)
    return found.kind === 'route' ? found.route.policy.name : found.kind
  }
  t.equal(name('/x'), 'a/p/r')
  t.equal(name('/api/bx'), 'a/p/r')
  t.equal(name('/api/b/7'), 'b/p/r')
  t.equal(name('/api/b/7/x'), 'not_found', 'no route of the owner matches')
  t.equal(name('/api/b'), 'not_found')
  t.equal(name('/api/b/7', 'POST'), 'method_not_allowed')
  t.equal(routesAt('/api/b/7/x').size, 0)
})

t.test('only the prefixes of a source without valid policies are unavailable', async (t) => {
  const [a, b] = [aSource('a', ['/api']), aSource('b', ['/api/b'])]
  const loaded = load([a, b], { a: 'broken', b: policyOf('b-api', get('/api/b/{id}')) })
  t.match(loaded.states, [{ state: 'unavailable' }, { state: 'valid' }])
  const { match } = compile(loaded)
  t.equal(match('GET', '/api/x').kind, 'unavailable')
  t.equal(match('OPTIONS', '/api').kind, 'unavailable')
  t.equal(match('GET', '/api/b/7').kind, 'route')
  t.equal(match('GET', '/api/b/7/8').kind, 'not_found', 'the path belongs to the valid source')
  t.same(match('POST', '/api/b/7'), { kind: 'method_not_allowed', allow: ['GET', 'HEAD'] })
  t.equal(match('GET', '/api/oauth/token').kind, 'not_found', 'a reserved path')
})

function compile({ routes, unavailable }: ReturnType<typeof load>) {
  return compilePolicies(
    { routes, hash: '', unavailable },
    { implication: new Map(), resources: testResources([]) },
  )
}

t.test('permissions restrict upstreams, scopes and access without a token', async (t) => {
  const source = aSource('a', ['/api'], { scopes: ['a:*', 'exact'], anonymous: false })
  const closed = '{ anonymous: deny }'
  const scopes = (names: string) => codesOf(source, get('/api', `, scopes: ${names}`), [], closed)
  t.equal(scopes('{ all: ["a:read", exact] }'), '')
  t.equal(scopes('{ all: ["b:read"], any: ["a:x", exactly] }'), 'P403 P403')
  t.equal(codesOf(source, get('/api')), 'P404', 'from the defaults')
  t.equal(codesOf(source, get('/api'), [], '{}'), 'P404 more', 'the built-in default')
  t.equal(codesOf(source, get('/api', ', enforce: report'), [], closed), 'P404')
  const { states } = load([source], { a: policyOf('b-api', get('/api'), closed) })
  t.match(states[0]?.errors, [{ code: 'P402', location: { line: 4 } }])
})

t.test('a rewrite on a shared upstream stays within the prefixes of the source', async (t) => {
  const own = aSource('a', ['/api/a'], { upstreams: ['api'] })
  const other = aSource('b', ['/api/b', '/api/a/b'], { upstreams: ['api'] })
  const rewrite = (path: string) => get('/api/a/{id}/**', `, rewrite: { path: ${JSON.stringify(path)} }`)
  t.equal(codesOf(own, rewrite('/api/b/{id}')), '', 'the only source of the upstream')
  t.equal(codesOf(own, rewrite('/api/b/{id}'), [other]), 'P405')
  t.equal(codesOf(own, rewrite('/api/{id}'), [other]), 'P405')
  t.equal(codesOf(own, rewrite('/api/a/{id}'), [other]), 'P405', 'the prefix of the other source inside')
  t.equal(codesOf(own, rewrite('/api/a/x/{id}'), [other]), '')
  t.equal(codesOf(own, get('/b/7', ', mount: /api/a/api'), [other]), 'P405', 'a mount')
})

/**
 * Returns the error codes of a source `a` with a route at `/api/a/{id}`.
 * @param own address of the upstream of `a`.
 * @param others address of the upstream of `b`.
 */
function codesWith(own: string, others: string, more = '') {
  const addresses = new Map([
    ['a-api', [own]],
    ['b-api', [others]],
  ])
  const route = get('/api/a/{id}', more)
  return codesOf(aSource('a', ['/api/a']), route, [aSource('b', ['/api/b'])], undefined, addresses)
}

t.test('two names of one address are a shared upstream', async (t) => {
  const rewrite = ", rewrite: { path: '/api/b/{id}' }"
  for (const [own, others] of [
    ['http://lms', 'http://lms'],
    ['http://lms:80/', 'http://LMS'],
    ['http://lms', 'https://lms'],
    ['http://lms.', 'http://lms'],
    ['http://127.0.0.1:3000', 'http://localhost:3000'],
    ['http://[::1]:3000', 'http://127.0.0.2:3000'],
  ] as const) {
    t.equal(codesWith(own, others, rewrite), 'P405', `${own} and ${others}`)
    t.equal(codesWith(own, others), '', `${own} and ${others} without a rewrite`)
  }
  for (const [own, others] of [
    ['http://lms', 'http://billing'],
    ['http://lms:3000', 'http://lms:3001'],
    ['http://lms/a', 'http://lms/b'],
  ] as const)
    t.equal(codesWith(own, others, rewrite), '', `${own} and ${others}`)
})

t.test('a base path of an upstream must not give access to the paths of another source', async (t) => {
  t.equal(codesWith('http://lms/api/b', 'http://lms'), 'P405', 'without a rewrite')
  t.equal(codesWith('http://lms/API/b;x', 'http://lms'), 'P405', 'in another spelling')
  t.equal(codesWith('http://lms/own', 'http://lms'), '')
  t.equal(codesWith('http://lms/own', 'http://lms', ", rewrite: { path: '/x/{id}' }"), 'P405')
  t.equal(codesWith('http://lms', 'http://lms/api/a', ", rewrite: { path: '/api/a/{id}/b' }"), 'P405')
})

t.test('other spellings of a prefix belong to the source of the prefix', async (t) => {
  const [a, b] = [aSource('a', ['/api']), aSource('b', ['/api/b'])]
  for (const path of ['/api/B/x', '/API/b', '/api/b;x/7', '/api/b./7', '/api/%2562/7', '/api/b%3Bx'])
    t.equal(codesOf(a, get(path), [b]), 'P401', path)
  const { states } = load([a, b], { a: policyOf('a-api', get('/api/B/x')) })
  t.match(states[0]?.errors, [
    { message: '"/api/B/x" belongs to source b (owner team-b): an upstream can read it as a path at /api/b' },
  ])
  const own = policyOf('b-api', get('/api/b/**'))
  const { match } = compile(load([a, b], { a: policyOf('a-api', get('/api/**')), b: own }))
  for (const path of ['/api/B/7', '/api/b;x/7', '/api/b%3Bx', '/api/b.', '/api/%2562/7'])
    t.equal(match('GET', path).kind, 'not_found', path)
  for (const path of ['/api/b/7', '/api/c/7', '/api/b.json', '/api/Bc'])
    t.equal(match('GET', path).kind, 'route', path)
})

t.test('on a shared upstream, a path with a suffix belongs to the source of the prefix', async (t) => {
  const a = aSource('a', ['/api'], { upstreams: ['api'] })
  const b = aSource('b', ['/api/b'], { upstreams: ['api'] })
  t.equal(codesOf(a, get('/api/b.json'), [b]), 'P405')
  const { match } = compile(load([a, b], { a: policyOf('api', get('/api/**')) }))
  t.equal(match('GET', '/api/b.json').kind, 'not_found')
  t.equal(match('GET', '/api/c.json').kind, 'route')
  const nested = aSource('b', ['/api/v1/b'], { upstreams: ['api'] })
  const literal = compile(load([a, nested], { a: policyOf('api', get('/api/{x}/b.json')) }))
  t.equal(literal.match('GET', '/api/v1/b.json').kind, 'not_found', 'a suffix in the template')
  t.equal(literal.match('GET', '/api/v2/b.json').kind, 'route')
  const rewritten = load([a, b], { a: policyOf('api', get('/api/b.json', ", rewrite: { path: '/api/c' }")) })
  t.match(rewritten.states, [{ state: 'valid', routes: 1 }], 'the upstream does not get the suffix')
})

t.test('a route excludes the nested prefix of another source, also in another case', async (t) => {
  const [a, b] = [aSource('a', ['/API']), aSource('b', ['/api/b'])]
  const { match } = compile(
    load([a, b], { a: policyOf('a-api', get('/API/**')), b: policyOf('b-api', get('/api/b/7')) }),
  )
  t.equal(match('GET', '/API/b/7').kind, 'not_found')
  t.equal(match('GET', '/API/c').kind, 'route')
  t.equal(match('GET', '/api/b/7').kind, 'route')
})

t.test('a route is invalid if a parameter can match a segment that an upstream drops', async (t) => {
  const name = (prefixes: readonly [string, string], template: string, path: string) => {
    const [a, b] = [aSource('a', [prefixes[0]]), aSource('b', [prefixes[1]])]
    const own = policyOf('b-api', get(`${prefixes[1]}/**`))
    const found = compile(load([a, b], { a: policyOf('a-api', get(template)), b: own })).match('GET', path)
    return found.kind === 'route' ? found.route.policy.name : found.kind
  }
  for (const dropped of [';a', '%3Ba', '%20', '...']) {
    const path = `/api/${dropped}/v1/b/7`
    t.equal(name(['/api', '/api/v1/b'], '/api/{x}/v1/b/**', path), 'not_found', path)
    t.equal(name(['/', '/api/b'], '/{x}/api/**', `/${dropped}/api/b/7`), 'not_found', dropped)
  }
  t.equal(name(['/api', '/api/v1/b'], '/api/{x}/v1/b/**', '/api/tenant/v1/b/7'), 'a/p/r')
  t.equal(name(['/', '/api/b'], '/{x}/api/**', '/tenant/api/b/7'), 'a/p/r')
})

t.test('a parameter of a rewrite on a shared upstream can be a dropped segment', async (t) => {
  const a = aSource('a', ['/api'], { upstreams: ['api'] })
  const b = aSource('b', ['/api/v1/b'], { upstreams: ['api'] })
  const rewrite = (path: string) => get('/api/{x}/{y}', `, rewrite: { path: ${JSON.stringify(path)} }`)
  t.equal(codesOf(a, rewrite('/api/{x}/v1/b/{y}'), [b]), 'P405')
  t.equal(codesOf(a, rewrite('/api/{x}/v2/b/{y}'), [b]), '')
})

t.test('credentials of callers need a permission', async (t) => {
  const forward = get('/api', ', upstreamAuth: forward')
  t.equal(codesOf(aSource('a', ['/api']), forward), 'P406')
  t.equal(
    codesOf(aSource('a', ['/api']), get('/api'), [], '{ anonymous: allow, upstreamAuth: forward }'),
    'P406',
  )
  t.equal(codesOf(aSource('a', ['/api'], { forwardCredentials: true }), forward), '')
})

/** The source has `count` routes. Returns the number of steps and the result. */
function stepsFor(count: number, maxRoutes?: number) {
  const source = aSource('a', ['/api'])
  const lines = Array.from(
    { length: count },
    (_, index) => `  - { name: r${index}, ${get(`/api/${index}`)} }\n`,
  )
  const text = policyOf('a-api', get('/api')).replace(/ {2}- .*\n/, lines.join(''))
  const files = [{ name: 'a', folder: '/nowhere/a', current: aFolder(text), lastValid: undefined }]
  const steps = loadPolicySourcesSliced(files, [source], {
    upstreams: new Set(['a-api']),
    maxRoutes,
  })
  let number = 0
  for (let next = steps.next(); ; next = steps.next()) {
    if (next.done === true) return { number, ...next.value }
    number += 1
  }
}

t.test('each step of the checks handles a few routes', async (t) => {
  const few = stepsFor(32)
  const many = stepsFor(992)
  t.equal(many.routes.length, 992)
  t.ok(many.number - few.number >= 2 * 30, `${many.number - few.number} more steps`)
})

t.test('a source above the limit of routes is invalid', async (t) => {
  const { states, routes } = stepsFor(11, 10)
  t.equal(routes.length, 0)
  t.match(states, [{ state: 'unavailable', errors: [{ code: 'P007', message: /more than 10 routes/ }] }])
})

t.test('an exception during the checks of one source does not affect another source', async (t) => {
  const [a, b] = [aSource('a', ['/api/a']), aSource('b', ['/api/b'])]
  const files = [a, b].map(({ name, folder }) => ({
    name,
    folder,
    current: aFolder(policyOf(`${name}-api`, get(`/api/${name}`))),
    lastValid: undefined,
  }))
  const { states, routes } = runSync(
    loadPolicySourcesSliced(files, [a, b], {
      readAdditions(source) {
        if (source.name === 'a') throw new RangeError('too deep')
        return { upstreams: [], scopes: new Map(), authorizationServers: new Set(), diagnostics: [] }
      },
    }),
  )
  t.match(states, [
    { state: 'unavailable', errors: [{ code: 'P001', message: /cannot be checked: RangeError: too deep/ }] },
    { state: 'valid' },
  ])
  t.equal(routes.length, 1)
})
