import t from 'tap'
import { comparePolicies } from '../../../../cli/commands/diff/compare-policies.ts'
import { renderDiff } from '../../../../cli/commands/diff/render-diff.ts'
import { NO_IMPLICATION } from '../../../../oauth/scope.ts'
import { compilePolicies } from '../../../../policy-engine/decide/compile-policies.ts'
import type { Condition, CorsRule, PolicyRoute } from '../../../../policy-engine/load/policy-route.ts'
import type { Resources } from '../../../../policy-engine/match/resources.ts'
import { aPolicyRoute } from '../../../fixtures/a-policy-route.ts'
import { cpuMs } from '../../../fixtures/cpu-ms.ts'
import { testResources } from '../../../fixtures/test-resources.ts'

function side(routes: readonly PolicyRoute[], resources: Resources = testResources([])) {
  const policies = compilePolicies({ routes, hash: '' }, { implication: NO_IMPLICATION, resources })
  return { policies, resourcePaths: resources.all.map(({ path }) => path).filter((path) => path !== '') }
}

type Side = ReturnType<typeof side>

const say = (old: ReturnType<typeof side>, now: ReturnType<typeof side>) =>
  renderDiff(comparePolicies(old, now), { colour: false })

const equals = (claim: string, value: string): Condition => ({
  claim,
  test: { equals: value },
  source: { file: 'x', line: 1, column: 1 },
})

t.test('a part of the API that becomes a separate resource requires separate tokens', async (t) => {
  const wide = [aPolicyRoute({ name: 'a/wide', path: '/a/**', anonymous: 'deny' })]
  const said = say(side(wide), side(wide, testResources(['/a/b'])))
  t.match(said, /^~ a\/wide {3}GET \/a\/\*\*/)
  t.match(
    said,
    / {4}audience {3}https:\/\/api\.test of \S+ {2}-> {2}https:\/\/api\.test\/a\/b of \S+ +WIDENED and NARROWED/,
  )
  const [change] = comparePolicies(side(wide), side(wide, testResources(['/a/b']))).changes
  t.match(change, { partly: true, example: { path: '/a/b' } })
})

t.test('diff ignores another base URL of the same resources, and reports another issuer', async (t) => {
  const routes = [aPolicyRoute({ anonymous: 'deny' })]
  const elsewhere = testResources(['/mcp'], { baseUrl: 'https://other.test', issuers: ['https://x.test'] })
  t.equal(
    say(side(routes, testResources(['/mcp'])), side(routes, elsewhere)),
    'nothing changes for callers\n',
  )
  const more = testResources([], { issuers: ['https://api.test', 'https://login.test'] })
  t.match(say(side(routes), side(routes, more)), /audience .*WIDENED\n1 widened, 0 narrowed/)
})

t.test(
  'diff compares conditions as text if there are too many to evaluate, and reports every possible gain',
  async (t) => {
    const claims = Array.from({ length: 12 }, (_, index) => `c${index}`)
    const when = claims.map((claim) => equals(claim, 'x'))
    const route = (conditions: readonly Condition[]) => [
      aPolicyRoute({ anonymous: 'deny', when: conditions }),
    ]
    const start = cpuMs()
    t.equal(say(side(route(when)), side(route(when.toReversed()))), 'nothing changes for callers\n')
    t.match(
      say(side(route(when)), side(route(when.slice(1)))),
      / when .*WIDENED\n.* only their texts are compared\n1 widened, 0 narrowed/,
    )
    t.match(
      say(side(route(when.slice(1))), side(route(when))),
      / when .*NARROWED\n.* only their texts are compared\n0 widened, 1 narrowed/,
    )
    const other = [...when.slice(1), equals('c0', 'y')]
    const said = say(side(route(when)), side(route(other)))
    t.match(
      said,
      /WIDENED and NARROWED\n +these conditions have too many combinations, so only their texts are compared\n/,
    )
    const [change] = comparePolicies(side(route(when)), side(route(other))).changes
    t.match(change?.details, [{ what: 'when', asWritten: true }])
    const few = say(side(route([equals('c', 'x')])), side(route([])))
    t.match(few, /WIDENED\n/)
    t.notMatch(few, /only their texts are compared/)
    t.ok(cpuMs() - start < 10_000)
  },
)

t.test(
  'reports a rate limit that is split with its route, because each part counts separately',
  async (t) => {
    const limited = (name: string, path: string, methods = ['GET']) =>
      aPolicyRoute({ name, path, methods, rateLimit: { requests: 600, perMs: 60_000, by: 'client' } })
    const whole = side([limited('a/all', '/a/**')])
    const split = side([limited('a/all', '/a/**'), limited('a/b', '/a/b')])
    t.equal(
      say(whole, split),
      [
        '~ a/b (was a/all)   GET /a/b, for example GET /a/b',
        '    counted    together with a/all  ->  separately',
        '0 widened, 0 narrowed, 1 changed, 0 new, 0 gone\n',
      ].join('\n'),
    )
    t.match(
      say(split, whole),
      /~ a\/all \(was a\/b\).*\n {4}counted {4}separately {2}-> {2}together with a\/all\n/,
    )
    const byMethod = (...names: readonly string[]) =>
      side(names.map((name, index) => limited(name, '/a', [['GET'], ['PUT']][index])))
    const together = side([limited('a/x', '/a', ['GET', 'PUT'])])
    t.equal(say(together, byMethod('a/y', 'a/z')).match(/together with a\/x {2}-> {2}separately/g)?.length, 2)
    t.equal(
      say(byMethod('a/y', 'a/z'), byMethod('a/z', 'a/y')).includes('counted'),
      false,
      'names of routes have no effect',
    )
    t.match(
      say(whole, side([limited('b/all', '/a/**')])),
      /nothing else changed/,
      'a new name for the whole route has no effect',
    )
    const open = side([aPolicyRoute({ name: 'a/x', path: '/a' }), aPolicyRoute({ name: 'a/y', path: '/b' })])
    t.notMatch(say(open, side([limited('a/x', '/a'), limited('a/z', '/b')])), /counted/)
  },
)

t.test('reports a change of a shared limit on each of its routes', async (t) => {
  const limit = { name: 'apps', requests: 60, perMs: 60_000, key: 'client' } as const
  const plans = {
    claim: 'plan',
    values: [
      { plan: 'free', requests: 60 },
      { plan: 'pro', requests: 6_000 },
    ],
  }
  const on = (...sharedLimits: NonNullable<PolicyRoute['sharedLimits']>) =>
    side(['a/x', 'a/y'].map((name) => aPolicyRoute({ name, path: `/${name}`, sharedLimits })))
  t.equal(
    say(on(limit), on({ ...limit, plans })).match(
      /shared limits +apps: 60 per 1m by client {2}-> {2}apps: 60 per 1m by client; by claim plan: free 60, pro 6000\n/g,
    )?.length,
    2,
  )
  const tenants = { name: 'tenants', requests: 5, perMs: 1_000, key: 'claim', claim: 'tenant' } as const
  t.match(
    say(
      side([aPolicyRoute({ name: 'a/x' })]),
      side([aPolicyRoute({ name: 'a/x', sharedLimits: [tenants] })]),
    ),
    /shared limits +none {2}-> {2}tenants: 5 per 1s by claim tenant\n/,
  )
  t.notMatch(say(on(limit), on({ ...limit })), /shared limits/)
})

t.test('diff allows that different members of a list claim satisfy different conditions', async (t) => {
  const among = (...values: readonly string[]) => [
    aPolicyRoute({
      anonymous: 'deny',
      when: [
        { ...equals('c', ''), test: { equals: { from: 'path', name: 'id' } } },
        { ...equals('c', ''), test: { in: values } },
      ],
    }),
  ]
  // A path parameter cannot be `x/y`, because it contains a slash. A list claim with the parameter and `x/y` satisfies
  // both conditions.
  t.match(say(side(among('a')), side(among('a', 'x/y'))), /WIDENED\n1 widened, 0 narrowed/)
  t.match(say(side(among('a', 'x y')), side(among('a'))), /NARROWED\n0 widened, 1 narrowed/)
})

t.test('a route for an MCP tool matches with the protocol version that its headers require', async (t) => {
  const tool = (name: string, scope: string) =>
    aPolicyRoute({
      name: `mcp/${name}`,
      path: '/mcp',
      methods: ['POST'],
      matchHeaders: [
        { name: 'mcp-method', value: 'tools/call' },
        { name: 'mcp-name', value: name },
      ],
      scopes: { all: [scope], any: [] },
    })
  const said = say(side([tool('one', 'a'), tool('two', 'b')]), side([tool('one', 'b'), tool('two', 'b')]))
  t.match(
    said,
    /^~ mcp\/one {3}POST \/mcp \(mcp-method: tools\/call, mcp-name: one\)\n {4}scopes {5}all: a {2}-> {2}all: b +WIDENED and NARROWED\n1 widened, 1 narrowed, 0 new, 0 gone\n$/,
  )
})

t.test(
  'diff reports that a route reads MCP messages, because such a route rejects other bodies',
  async (t) => {
    const route = (change: Partial<PolicyRoute>) =>
      side([aPolicyRoute({ methods: ['GET', 'POST'], ...change })])
    const [plain, reading] = [route({}), route({ mcp: { readBody: true } })]
    t.match(say(plain, reading), /POST .*\n {4}mcp +none {2}-> {2}readBody +NARROWED\n0 widened, 1 narrowed/)
    t.match(say(reading, plain), /mcp +readBody {2}-> {2}none +WIDENED\n1 widened, 0 narrowed/)
  },
)

t.test('reports a renamed route, and counts it as no change', async (t) => {
  const { changes, renamed } = comparePolicies(
    side([aPolicyRoute()]),
    side([aPolicyRoute({ name: 'courses/other' })]),
  )
  t.same(changes, [])
  t.same(renamed, [{ old: 'courses/read-course', now: 'courses/other' }])
})

t.test('diff reports another scope in a challenge as a change that widens no access', async (t) => {
  const route = (advertise: string) => [aPolicyRoute({ scopes: { all: [], any: ['a', 'b'], advertise } })]
  t.match(
    say(side(route('a')), side(route('b'))),
    / {4}advertised a {2}-> {2}b\n0 widened, 0 narrowed, 1 changed/,
  )
})

t.test('diff escapes control characters in data from a gateway', async (t) => {
  const route = (value: string) => [
    aPolicyRoute({ name: `a/${value}`, upstream: value, matchHeaders: [{ name: 'x', value: '\u001b[2J' }] }),
  ]
  const said = say(side(route('\u001b]0;x\u0007')), side(route('\u202e\n')))
  t.match(said, 'x: \\u{1b}[2J')
  t.match(said, '\\u{1b}]0;x\\u{7}  ->  \\u{202e}\\u{a}')
  t.notMatch(said, /(?!\n)[\p{Cc}\p{Cf}]/u)
})

t.test('more allowed origins widen a route, and fewer narrow it', async (t) => {
  const A = 'https://a.example'
  const B = 'https://b.example'
  const detail = (old: CorsRule | undefined, now: CorsRule | undefined) => {
    const [before, after] = [old, now].map((cors) => side([aPolicyRoute({ methods: ['GET', 'PUT'], cors })]))
    const { changes } = comparePolicies(before as Side, after as Side)
    return changes.flatMap(({ details, widened, narrowed }) => [
      ...details.map((one) => `${one.what}: ${one.old} -> ${one.now}`),
      `${widened ? 'widened' : ''}${narrowed ? 'narrowed' : ''}`,
    ])
  }
  t.same(detail(undefined, { origins: [A] }), [`cors origins: all -> ${A}`, 'narrowed'])
  t.same(detail({ origins: [A] }, undefined), [`cors origins: ${A} -> all`, 'widened'])
  t.same(detail({ origins: [A] }, { origins: [A, B] }), [`cors origins: ${A} -> ${A}, ${B}`, 'widened'])
  t.same(detail({ origins: [A] }, { origins: [B] }), [`cors origins: ${A} -> ${B}`, 'widenednarrowed'])
  t.same(detail({ origins: [A] }, { origins: [] }), [`cors origins: ${A} -> none`, 'narrowed'])
  t.same(detail({ origins: [A, B] }, { origins: [B, A] }), [])
  t.same(detail({ methods: ['GET'] }, { methods: ['GET', 'PUT'] }), [
    'cors methods: GET -> GET, PUT',
    'widened',
  ])
  t.same(detail(undefined, { methods: ['PUT'] }), ['cors methods: all -> PUT', 'narrowed'])
  t.same(detail(undefined, { headers: ['x-a'] }), ['cors headers: all -> x-a', 'narrowed'])
  t.same(detail({ headers: ['x-a'] }, { headers: ['x-b'] }), ['cors headers: x-a -> x-b', 'widenednarrowed'])
  const [narrow, scoped] = [
    side([aPolicyRoute({ cors: { origins: [A] } })]),
    side([aPolicyRoute({ cors: { origins: [A, B] }, scopes: { all: ['orders:read'], any: [] } })]),
  ]
  t.match(
    say(narrow, scoped),
    / {4}scopes .*WIDENED and NARROWED\n {4}cors origins https:\/\/a\.example {2}-> .*WIDENED\n1 widened, 1 narrowed/,
  )
})
