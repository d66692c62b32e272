import { deepEqual } from 'node:assert'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { exportOpenapi } from '../../../cli/commands/export-openapi/export-openapi.ts'
import { importContract } from '../../../cli/commands/import/import.ts'
import { openPolicySet } from '../../../cli/open-policy-set.ts'
import { findDrift } from '../../../cli/openapi/find-drift.ts'
import { parseContract } from '../../../cli/openapi/read-contract.ts'
import { readOperations } from '../../../cli/openapi/read-operations.ts'
import type { GatewayFile } from '../../../gateway/config/gateway-file.ts'
import { buildOpenapi } from '../../../gateway/discovery/openapi.ts'
import { NO_IMPLICATION, readImplication } from '../../../oauth/scope.ts'
import { wholeFile } from '../../../platform/diagnostics/diagnostic.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { compilePolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { loadPolicies } from '../../../policy-engine/load/load-policies.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import { parsePathTemplate, shapeOf } from '../../../policy-engine/match/path-template.ts'
import { startPlatform } from '../../examples/learning-platform/start-platform.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import { testResources } from '../../fixtures/test-resources.ts'

const ROOT = findPackageRoot()
const SHARED = { name: 'api', requests: 6, perMs: 60_000, key: 'client' } as const
const PRESETS = { byName: new Map(), limits: new Map([['api', SHARED]]) }
const ANYTHING = {
  catalogue: undefined,
  upstreams: undefined,
  authorizationServers: undefined,
  presets: PRESETS,
}
const SCOPES = ['a:read', 'a:write', 'b:read', 'b:write']
const RUNS = 150
const SOURCE = { file: '', line: 1, column: 1 }

const segment = fc.constantFrom('api', 'courses', '{id}', '{other}', '2024', 'x:y')
const scopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { maxLength: 3 })
const generatedRoute = fc
  .record({
    methods: fc.uniqueArray(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'), {
      minLength: 1,
      maxLength: 3,
    }),
    segments: fc.uniqueArray(segment, { minLength: 1, maxLength: 4 }),
    below: fc.boolean(),
    all: scopes,
    any: scopes,
    anonymous: fc.constantFrom('allow' as const, 'challenge' as const, 'deny' as const),
    limit: fc.option(fc.integer({ min: 1, max: 9 })),
    isShared: fc.boolean(),
    timeoutMs: fc.option(fc.constantFrom(250, 90_000, 7_200_000), { nil: undefined }),
    bodyLimitBytes: fc.option(fc.constantFrom(1, 1_024, 10_485_760), { nil: undefined }),
    readsMcpBody: fc.boolean(),
    upstreamAuth: fc.constantFrom('none' as const, 'assertion' as const, 'forward' as const),
    authentication: fc.option(
      fc.constantFrom({ acr: ['phr', 'mfa'], maxAgeSeconds: undefined }, { acr: [], maxAgeSeconds: 300 }),
      { nil: undefined },
    ),
    enforce: fc.constantFrom('on' as const, 'report' as const),
    when: fc.option(
      fc.constantFrom(
        { equals: 's1' },
        { equals: { from: 'header' as const, name: 'x-school-id' } },
        { in: [5, true, { from: 'query' as const, name: 'q' }] },
        { matches: 'a*' },
        { exists: false },
      ),
    ),
    headers: fc.option(
      fc.constant({
        request: { set: [{ name: 'x-a', value: 'b' }], add: [], remove: ['x-c'] },
        response: { set: [], add: [{ name: 'x-d', value: 'e: f' }], remove: [] },
      }),
      { nil: undefined },
    ),
    cors: fc.option(
      fc.constantFrom(
        { origins: [] },
        { origins: ['https://app.example', 'http://localhost:3000'], methods: ['GET'] },
        { headers: ['authorization', 'x-a'] },
      ),
      { nil: undefined },
    ),
  })
  .map((one): PolicyRoute => {
    const any = one.any.filter((scope) => !one.all.includes(scope))
    return aPolicyRoute({
      methods: one.methods,
      anonymous: one.anonymous,
      timeoutMs: one.timeoutMs,
      bodyLimitBytes: one.bodyLimitBytes,
      upstreamAuth: one.upstreamAuth,
      enforce: one.enforce,
      headers: one.headers,
      cors: one.cors,
      authentication: one.anonymous === 'allow' ? undefined : one.authentication,
      when:
        one.when === null || one.anonymous === 'allow'
          ? []
          : [{ claim: '/a/b', test: one.when, source: SOURCE }],
      name: 'test/x',
      policy: 'test',
      path: `/${one.segments.join('/')}${one.below ? '/**' : ''}`,
      // With only one scope, `any` and `all` are equivalent. The import writes `all`.
      scopes: one.all.length + any.length === 0 || any.length === 1 ? undefined : { all: one.all, any },
      rateLimit: one.limit === null ? undefined : { requests: one.limit, perMs: 60_000, by: 'client' },
      ...(one.readsMcpBody && one.methods.includes('POST') ? { mcp: { readBody: true } } : {}),
      ...(one.isShared ? { sharedLimits: [SHARED] } : {}),
    })
  })

/** Generates routes that one policy can contain. No two routes have the same method and path. */
const generatedRoutes = fc.array(generatedRoute, { minLength: 1, maxLength: 6 }).map((routes) => {
  const taken = new Set<string>()
  return routes.flatMap((route, index) => {
    const template = parsePathTemplate(route.path)
    if ('problem' in template) return []
    const free = route.methods.filter((method) => !taken.has(`${method} ${shapeOf(template)}`))
    for (const method of free) taken.add(`${method} ${shapeOf(template)}`)
    return free.length === 0 ? [] : [{ ...route, name: `test/r${index}`, methods: free }]
  })
})

function exportRoutes(routes: readonly PolicyRoute[], withKeys: boolean) {
  const policies = { routes, tests: [], hash: '', diagnostics: [] }
  const gateway = { baseUrl: 'https://api.test', name: 'Test' } as GatewayFile
  const compiled = compilePolicies(policies, { implication: NO_IMPLICATION, resources: testResources([]) })
  return exportOpenapi(
    { gateway, catalogue: aCatalogue(SCOPES), policies, compiled },
    { version: '1', withKeys },
  )
}

/** Returns the rules of each method and path, without the names of files and routes. */
function meaning(routes: readonly PolicyRoute[]): ReadonlyMap<string, object> {
  return new Map(
    routes
      .flatMap((route) =>
        route.methods.map((method) => {
          const { name: _name, methods: _methods, owner: _owner, source: _source, when, mcp, ...rest } = route
          const conditions = when.map(({ claim, test }) => ({ claim, test }))
          // Only POST requests have MCP messages.
          const own = { ...rest, when: conditions, ...(method === 'POST' ? { mcp } : {}) }
          return [`${method} ${route.path}`, own] as const
        }),
      )
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

t.test(
  'import(export(policies)) with x-scopegate equals the policies, with one route for each method',
  async (t) => {
    const folder = t.testdir({})
    fc.assert(
      fc.property(generatedRoutes, (routes) => {
        const { document, leftOut } = exportRoutes(routes, true)
        if (leftOut.length > 0) return false
        const contract = parseContract(JSON.stringify(document), 'api.json')
        const { text, problems } = importContract(contract, { name: 'test', upstream: 'api' }, ANYTHING)
        if (text === undefined) throw new Error(JSON.stringify(problems))
        const files = [{ name: 'test.policy.yaml', source: { text } }]
        const loaded = loadPolicies({
          dir: folder,
          presets: PRESETS,
          sources: { folder: { names: ['test.policy.yaml'] }, files },
        })
        if (loaded.routes.length === 0) throw new Error(JSON.stringify(loaded.diagnostics))
        deepEqual(meaning(loaded.routes), meaning(routes))
        return true
      }),
      { numRuns: RUNS },
    )
  },
)

t.test('an export without x-scopegate has the same scopes and anonymous rules as its policies', async () => {
  fc.assert(
    fc.property(generatedRoutes, (routes) => {
      // OpenAPI cannot distinguish `**` from a parameter at the same position.
      const plain = routes.filter(({ path }) => !path.endsWith('**'))
      if (plain.length === 0) return
      const document = parseContract(JSON.stringify(exportRoutes(plain, false).document), 'api.json')
      const { operations, diagnostics } = readOperations(document)
      deepEqual(diagnostics, [])
      const policies = compilePolicies(
        { routes: plain, hash: '' },
        { implication: NO_IMPLICATION, resources: testResources([]) },
      )
      const drift = findDrift({
        document,
        operations,
        policies,
        implication: NO_IMPLICATION,
        locationOf: () => wholeFile('test'),
      })
      deepEqual(drift, [])
    }),
    { numRuns: RUNS },
  )
})

t.test('routes that differ only in headers share one operation without drift', async (t) => {
  const byHeader = (name: string, value: string) =>
    aPolicyRoute({
      name: `test/${name}`,
      path: '/mcp',
      methods: ['POST'],
      matchHeaders: [{ name: 'mcp-name', value }],
      scopes: { all: [value === 'one' ? 'a:read' : 'a:write'], any: [] },
    })
  const routes = [byHeader('one', 'one'), byHeader('two', 'two')]
  const { document, leftOut } = exportRoutes(routes, true)
  t.same(
    leftOut.map(({ name }) => name),
    ['test/two'],
  )
  const contract = parseContract(JSON.stringify(document), 'api.json')
  const { text = '' } = importContract(contract, { name: 'test', upstream: 'api' }, ANYTHING)
  t.match(text, 'match: { methods: [POST], path: /mcp, headers: { mcp-name: one } }')
  const policies = compilePolicies(
    { routes, hash: '' },
    { implication: NO_IMPLICATION, resources: testResources([]) },
  )
  const { operations } = readOperations(
    parseContract(JSON.stringify(exportRoutes(routes, false).document), 'api.json'),
  )
  const drift = findDrift({
    document: contract,
    operations,
    policies,
    implication: NO_IMPLICATION,
    locationOf: () => wholeFile('test'),
  })
  t.same(drift, [])
})

t.test(
  'the contract of the demo upstream agrees with the policies after a merge with their security',
  async (t) => {
    const platform = await startPlatform(t)
    const { json } = await platform.ask('/openapi.json')
    const { set } = await openPolicySet({ configDir: join(ROOT, 'config') })
    if (set === undefined) throw new Error('the shipped policies are not valid')
    const drift = (contract: unknown) => {
      const document = parseContract(JSON.stringify(contract), 'openapi.json')
      const { operations, diagnostics } = readOperations(document)
      t.same(
        diagnostics.filter(({ code }) => code !== 'O107'),
        [],
      )
      return findDrift({
        document,
        operations,
        policies: set.compiled,
        implication: readImplication(set.catalogue),
        locationOf: ({ policy }) => wholeFile(policy.source.file),
      })
    }
    const alone = drift(json)
    t.same(new Set(alone.map(({ code }) => code)), new Set(['O301', 'O303', 'O304']))
    // The contract describes these two paths of the upstream, but the gateway has no routes for them.
    t.same(
      alone.filter(({ code }) => code === 'O301').map(({ message }) => message.split(' is in')[0]),
      ['GET /healthz', 'GET /openapi.json'],
    )
    t.equal(alone.filter(({ code }) => code === 'O303').length, 94)
    const merged = buildOpenapi({
      baseUrl: 'https://api.test',
      name: 'Test',
      version: '1',
      bundledAuthorizationServer: true,
      catalogue: set.catalogue,
      routes: set.policies.routes,
      match: (method, path) => {
        const match = set.compiled.match(method, path)
        return match.kind === 'route' ? { ...match, route: match.route.policy } : match
      },
      sources: [{ upstream: 'learning-platform', document: json }],
    })
    t.same(drift(merged), [])
  },
)
