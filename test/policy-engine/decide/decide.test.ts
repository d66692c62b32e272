import fc from 'fast-check'
import t from 'tap'
import { NO_IMPLICATION } from '../../../oauth/scope-implication.ts'
import { compilePolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { type DecisionRequest, decide } from '../../../policy-engine/decide/decide.ts'
import { explainDecision } from '../../../policy-engine/decide/explain-decision.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import { matchesTemplate } from '../../../policy-engine/match/matches-template.ts'
import { buildRouteTable } from '../../../policy-engine/match/route-table.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import { someResources } from '../../fixtures/some-resources.ts'

function policiesOf(...routes: readonly PolicyRoute[]) {
  return compilePolicies(
    { routes, hash: 'f00' },
    { implication: NO_IMPLICATION, resources: someResources(['/mcp']) },
  )
}

function aRequest(change: Partial<DecisionRequest> = {}): DecisionRequest {
  return {
    method: 'GET',
    path: '/api/courses/42',
    query: '',
    header: () => undefined,
    nowSeconds: 500,
    targetLimitBytes: 8_192,
    ...change,
  }
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

t.test('decide() rejects paths without a route and paths reserved for Scopegate', async (t) => {
  const found = decide(aRequest({ path: '/api' }), reader, readers)
  t.match(found, { outcome: 'deny', refusal: { refused: 'method_not_allowed', allow: ['POST', 'OPTIONS'] } })
  t.equal(found.route, undefined)
  for (const path of ['/oauth/interaction/x', '/api/oauth/token', '/internal/revocations', '/auth.md'])
    t.match(decide(aRequest({ path, method: 'POST' }), reader, readers), {
      outcome: 'deny',
      refusal: { refused: 'route_unknown' },
    })
})

t.test(
  'decide() returns a challenge where the policy requires one, and denies in all other cases',
  async (t) => {
    const anonymous = decide(aRequest(), undefined, readers)
    t.match(anonymous, {
      outcome: 'challenge',
      refusal: { refused: 'token_missing', needed: ['courses:read'] },
    })
    t.equal(anonymous.route?.policy.name, 'courses/read')
    t.match(decide(aRequest({ method: 'PATCH' }), undefined, readers), {
      outcome: 'deny',
      refusal: { refused: 'token_missing', anonymous: 'deny' },
    })
    t.match(decide(aRequest({ method: 'PATCH' }), reader, readers), {
      outcome: 'deny',
      refusal: { refused: 'scope_missing', missing: ['courses:write'] },
    })
  },
)

t.test('decide() accepts a token only for the resource of the path', async (t) => {
  const tools = policiesOf(aPolicyRoute({ path: '/{any}/tools', scopes: undefined }))
  const forTools = aCaller({ audience: ['https://api.test/mcp'] })
  t.equal(decide(aRequest({ path: '/mcp/tools' }), forTools, tools).outcome, 'allow')
  t.match(decide(aRequest({ path: '/api/tools' }), forTools, tools).refusal, {
    refused: 'token_invalid',
    fault: { reason: 'wrong_audience' },
  })
})

t.test('decide() returns the caller identity and the upstream path', async (t) => {
  const writer = aCaller({ scopes: new Set(['courses:write']) })
  t.match(decide(aRequest({ method: 'PATCH' }), writer, readers), {
    outcome: 'allow',
    as: 'token',
    params: { id: '42' },
    upstreamPath: '/internal/courses/42',
  })
  t.match(decide(aRequest({ method: 'POST', path: '/any/where' }), undefined, readers), {
    outcome: 'allow',
    as: 'anonymous',
    upstreamPath: '/any/where',
  })
  t.match(decide(aRequest({ method: 'OPTIONS' }), undefined, readers), { outcome: 'allow', as: 'gateway' })
})

t.test('decide() rejects a rewritten path above the target length limit', async (t) => {
  const long = policiesOf(aPolicyRoute({ scopes: undefined, rewritePath: `/${'x'.repeat(2_000)}/{id}` }))
  const found = decide(aRequest({ path: `/api/courses/${'y'.repeat(7_000)}` }), undefined, long)
  t.match(found, { outcome: 'deny', refusal: { refused: 'target_too_long' } })
})

t.test('explainDecision() evaluates every rule, also after a denial', async (t) => {
  const late = aCaller({ expiresAtSeconds: 400 })
  const found = explainDecision(aRequest({ method: 'PATCH' }), late, readers)
  t.match(found, {
    decision: { outcome: 'deny', refusal: { refused: 'token_invalid' } },
    token: { held: false, fault: { reason: 'expired', secondsAgo: 100 } },
    scopes: { held: false, missing: ['courses:write'] },
  })
  t.strictSame(
    found.alsoSaw.map(({ policy }) => policy.name),
    ['courses/read', 'all/below'],
  )
  const anonymous = explainDecision(aRequest(), undefined, readers)
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
