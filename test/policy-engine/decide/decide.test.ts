import fc from 'fast-check'
import t from 'tap'
import { NO_IMPLICATION } from '../../../oauth/scope.ts'
import type { Caller } from '../../../policy-engine/decide/caller.ts'
import { type CompiledPolicies, compilePolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { type Decision, type DecisionRequest, decide } from '../../../policy-engine/decide/decide.ts'
import { explainDecision } from '../../../policy-engine/decide/explain-decision.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import { canonicalRequest } from '../../../policy-engine/match/canonical-request.ts'
import { matchesTemplate } from '../../../policy-engine/match/path-template.ts'
import { buildRouteTable } from '../../../policy-engine/match/route-table.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import { testResources } from '../../fixtures/test-resources.ts'

function policiesOf(...routes: readonly PolicyRoute[]) {
  return compilePolicies(
    { routes, hash: 'f00' },
    { implication: NO_IMPLICATION, resources: testResources(['/mcp']) },
  )
}

const LIMITS = { targetBytes: 8_192, tokenBytes: 8_192, bodyBytes: 1_000 }

function aRequest({
  method = 'GET',
  path = '/api/courses/42',
  headers = [],
}: {
  readonly method?: string
  readonly path?: string
  readonly headers?: readonly string[]
} = {}): DecisionRequest {
  const canonical = canonicalRequest(
    { method, url: path, rawHeaders: ['host', 'api.test', ...headers], httpVersion: '1.1' },
    { origin: 'https://api.test', limitBytes: LIMITS.targetBytes },
  )
  if ('rejected' in canonical) throw new Error(canonical.rejected)
  return { method, canonical, nowSeconds: 500, limits: LIMITS }
}

function decideFor(
  request: DecisionRequest,
  caller: Caller | undefined,
  policies: CompiledPolicies,
): Decision {
  return decide(request, () => caller, policies)
}

const readers = policiesOf(
  aPolicyRoute({ name: 'courses/read', anonymous: 'challenge' }),
  aPolicyRoute({
    name: 'courses/change',
    methods: ['PATCH'],
    scopes: { all: ['courses:write'], any: [] },
    anonymous: 'deny',
    rewritePath: '/internal/courses/{id}',
  }),
  aPolicyRoute({ name: 'all/below', path: '/**', methods: ['POST'], scopes: undefined }),
)
const reader = aCaller({ scopes: new Set(['courses:read']) })

t.test(
  'decide() rejects paths without a route, and leaves the reserved paths of Scopegate to the gateway',
  async (t) => {
    const found = decideFor(aRequest({ path: '/api' }), reader, readers)
    t.match(found, {
      outcome: 'deny',
      rejection: { rejected: 'method_not_allowed', allow: ['POST', 'OPTIONS'] },
    })
    t.equal(found.route, undefined)
    for (const [method, path] of [
      ['POST', '/oauth/interaction/x'],
      ['POST', '/api/oauth/token'],
      ['POST', '/internal/revocations'],
      ['GET', '/auth.md'],
    ] as const) {
      const { route, as } = decideFor(aRequest({ path, method }), reader, readers)
      t.same({ route, as }, { route: undefined, as: 'gateway' }, 'no policy decides on a reserved path')
      t.same(readers.match(method, path), { kind: 'not_found' })
    }
    t.match(decideFor(aRequest({ path: '/auth.md', method: 'POST' }), reader, readers), {
      rejection: { rejected: 'method_not_allowed', allow: ['GET', 'HEAD', 'OPTIONS'] },
    })
  },
)

t.test(
  'decide() returns a challenge where the policy requires one, and denies in all other cases',
  async (t) => {
    const anonymous = decideFor(aRequest(), undefined, readers)
    t.match(anonymous, {
      outcome: 'challenge',
      rejection: { rejected: 'token_missing', needed: ['courses:read'] },
    })
    t.equal(anonymous.route?.policy.name, 'courses/read')
    t.match(decideFor(aRequest({ method: 'PATCH' }), undefined, readers), {
      outcome: 'deny',
      rejection: { rejected: 'token_missing', anonymous: 'deny' },
    })
    t.match(decideFor(aRequest({ method: 'PATCH' }), reader, readers), {
      outcome: 'deny',
      rejection: { rejected: 'scope_missing', missing: ['courses:write'] },
    })
  },
)

t.test('decide() accepts a token only for the resource of the path', async (t) => {
  const tools = policiesOf(aPolicyRoute({ path: '/{any}/tools', scopes: undefined }))
  const forTools = aCaller({ audience: ['https://api.test/mcp'] })
  t.equal(decideFor(aRequest({ path: '/mcp/tools' }), forTools, tools).outcome, 'allow')
  t.match(decideFor(aRequest({ path: '/api/tools' }), forTools, tools).rejection, {
    rejected: 'token_invalid',
    fault: { reason: 'wrong_audience' },
  })
})

t.test('decide() takes the MCP call of a simulated request from its headers', async (t) => {
  const route = (name: string, value: string) =>
    aPolicyRoute({
      name,
      methods: ['POST'],
      path: '/mcp',
      matchHeaders: [
        { name: 'mcp-method', value: 'tools/call' },
        { name: 'mcp-name', value },
      ],
      scopes: undefined,
      mcp: { readBody: true },
    })
  const tools = policiesOf(route('tools/a', 'a'), route('tools/b', 'b'))
  const ask = (...headers: readonly string[]) =>
    decideFor(aRequest({ method: 'POST', path: '/mcp', headers }), undefined, tools)
  const call = ['mcp-method', 'tools/call', 'mcp-name']
  t.equal(ask(...call, 'b').route?.policy.name, 'tools/b', 'without MCP-Protocol-Version')
  t.equal(ask(...call, `=?base64?${btoa('a')}?=`).route?.policy.name, 'tools/a')
  t.match(ask(...call, 'c').rejection, { rejected: 'route_unknown' })
  t.match(ask().rejection, { rejected: 'mcp_body_invalid' }, 'no body')
  t.match(ask('mcp-method', 'tools/call').rejection, { rejected: 'mcp_headers_differ' })
  t.match(ask('mcp-method', 'ping', 'mcp-name', 'a').rejection, { rejected: 'mcp_headers_differ' })
  t.match(ask(...call, 'a', 'mcp-name', 'b').rejection, { rejected: 'mcp_headers_differ' })

  const closed = policiesOf(
    { ...route('tools/a', 'a'), anonymous: 'challenge' },
    { ...route('tools/b', 'b'), anonymous: 'challenge' },
  )
  const noBody = aRequest({ method: 'POST', path: '/mcp' })
  t.match(decideFor(noBody, undefined, closed), {
    outcome: 'challenge',
    rejection: { rejected: 'token_missing' },
  })
  t.match(decideFor(noBody, aCaller({}), closed).rejection, { rejected: 'mcp_body_invalid' })
  const twice = aRequest({
    method: 'POST',
    path: '/mcp',
    headers: ['authorization', 'Bearer a', 'authorization', 'Bearer b'],
  })
  t.match(decideFor(twice, undefined, tools).rejection, { rejected: 'credentials_ambiguous' })
})

t.test('decide() returns the caller identity and the upstream path', async (t) => {
  const writer = aCaller({ scopes: new Set(['courses:write']) })
  t.match(decideFor(aRequest({ method: 'PATCH' }), writer, readers), {
    outcome: 'allow',
    as: 'token',
    params: { id: '42' },
    upstreamPath: '/internal/courses/42',
  })
  t.match(decideFor(aRequest({ method: 'POST', path: '/any/where' }), undefined, readers), {
    outcome: 'allow',
    as: 'anonymous',
    upstreamPath: '/any/where',
  })
  t.match(decideFor(aRequest({ method: 'OPTIONS' }), undefined, readers), { outcome: 'allow', as: 'gateway' })
})

t.test('decide() rejects a rewritten path above the target length limit', async (t) => {
  const long = policiesOf(aPolicyRoute({ scopes: undefined, rewritePath: `/${'x'.repeat(2_000)}/{id}` }))
  const found = decideFor(aRequest({ path: `/api/courses/${'y'.repeat(7_000)}` }), undefined, long)
  t.match(found, { outcome: 'deny', rejection: { rejected: 'target_too_long' } })
})

t.test('decide() rejects a body with an announced length above the limit of the route', async (t) => {
  const limited = policiesOf(
    aPolicyRoute({ name: 'courses/small', scopes: undefined, anonymous: 'allow', bodyLimitBytes: 10 }),
    aPolicyRoute({ name: 'courses/any', path: '/api/any', scopes: undefined, anonymous: 'allow' }),
  )
  const outcome = (path: string, bytes: number) => {
    const headers = ['content-length', String(bytes)]
    return decideFor(aRequest({ path, headers }), undefined, limited).rejection?.rejected
  }
  t.equal(outcome('/api/courses/1', 10), undefined)
  t.equal(outcome('/api/courses/1', 11), 'body_too_large')
  t.equal(outcome('/api/any', 1_000), undefined)
  t.equal(outcome('/api/any', 1_001), 'body_too_large')
})

t.test('explainDecision() evaluates every rule, also after a denial', async (t) => {
  const late = aCaller({ expiresAtSeconds: 400 })
  const request = aRequest({ method: 'PATCH' })
  const decision = decideFor(request, late, readers)
  t.match(decision, { outcome: 'deny', rejection: { rejected: 'token_invalid' } })
  const found = explainDecision(decision, request, late, readers)
  t.match(found, {
    token: { held: false, fault: { reason: 'expired', secondsAgo: 100 } },
    scopes: { held: false, missing: ['courses:write'] },
  })
  t.strictSame(
    found.alsoSaw.map(({ policy }) => policy.name),
    ['courses/read', 'all/below'],
  )
  const anonymous = explainDecision(decideFor(aRequest(), undefined, readers), aRequest(), undefined, readers)
  t.strictSame([anonymous.token, anonymous.scopes], [undefined, undefined])
})

t.test('matchesTemplate() agrees with the route table', async (t) => {
  const segment = fc.constantFrom('a', 'b', '', 'a%20b')
  const path = fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`)
  const template = fc.constantFrom('/**', '/', '/{x}', '/a/**', '/a/{x}', '/a/{x}/**', '/{x}/b', '/a/', '/a')
  fc.assert(
    fc.property(path, template, (path, template) => {
      if (path.includes('//')) return
      const table = buildRouteTable([{ methods: ['GET'], path: template }])
      t.equal(
        matchesTemplate(path, template),
        table.match('GET', path).kind === 'route',
        `${path} ${template}`,
      )
    }),
    { numRuns: 200 },
  )
})
