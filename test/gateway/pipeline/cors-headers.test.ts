import t from 'tap'
import { CORS_HEADERS, corsOf, preflightHeaders } from '../../../gateway/pipeline/cors-headers.ts'
import type { RequestContext } from '../../../gateway/pipeline/request-context.ts'
import type { CorsRule } from '../../../policy-engine/load/policy-route.ts'

const EXPOSED =
  'WWW-Authenticate, DPoP-Nonce, X-Request-Id, X-Scopegate-Error, Allow, Retry-After, RateLimit, RateLimit-Policy, Mcp-Session-Id, ETag, Link, Location, Content-Disposition, Content-Range'
const ANY_ORIGIN = ['access-control-allow-origin', '*', 'access-control-expose-headers', EXPOSED]
const VARY = ['vary', 'Origin']
const PREFLIGHT_VARY = ['vary', 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers']
const PAGE = 'https://app.test'

/** Returns the CORS headers of a response to a GET request from `origin`, on a route with the rule `cors`. */
function headersOf(cors: CorsRule | undefined, origin: string | undefined): readonly string[] {
  return corsOf({
    route: { kind: 'api', policy: { cors } },
    canonical: { headers: { header: (name: string) => (name === 'origin' ? origin : undefined) } },
    method: 'GET',
  } as unknown as RequestContext)
}

t.test('corsOf() returns the headers for the page of a request', async (t) => {
  const allowed = ['access-control-allow-origin', PAGE, 'access-control-expose-headers', EXPOSED, ...VARY]
  for (const [cors, origin, expected] of [
    [undefined, PAGE, ANY_ORIGIN],
    [undefined, undefined, ANY_ORIGIN],
    [{ methods: ['GET'] }, undefined, ANY_ORIGIN],
    [{ methods: ['PUT'] }, PAGE, []],
    [{ origins: [PAGE] }, PAGE, allowed],
    [{ origins: [PAGE] }, 'https://other.test', VARY],
    [{ origins: [PAGE] }, undefined, VARY],
    [{ origins: [PAGE], methods: ['PUT'] }, PAGE, VARY],
  ] as const)
    t.strictSame(headersOf(cors, origin), expected, `${JSON.stringify(cors)} ${origin}`)
  t.equal(corsOf({ route: { kind: 'document' } } as unknown as RequestContext), CORS_HEADERS)
  t.equal(corsOf({ route: undefined } as unknown as RequestContext), CORS_HEADERS)
})

t.test('no request can change the headers that many responses share', async (t) => {
  for (const shared of [
    CORS_HEADERS,
    headersOf({ methods: ['PUT'] }, PAGE),
    headersOf({ origins: [PAGE] }, undefined),
    preflightHeaders({ origin: undefined, methods: [], headers: [] }),
  ])
    t.equal(Object.isFrozen(shared), true)
})

t.test('preflightHeaders() returns the decision and the lifetime of the response', async (t) => {
  t.strictSame(preflightHeaders({ origin: undefined, methods: ['GET'], headers: ['a'] }), PREFLIGHT_VARY)
  const start = ['access-control-allow-origin', PAGE, 'access-control-allow-methods', 'GET, PUT']
  const end = ['access-control-max-age', '600', ...PREFLIGHT_VARY]
  t.strictSame(preflightHeaders({ origin: PAGE, methods: ['GET', 'PUT'], headers: [] }), [...start, ...end])
  t.strictSame(preflightHeaders({ origin: PAGE, methods: ['GET', 'PUT'], headers: ['a', 'b'] }), [
    ...start,
    ...['access-control-allow-headers', 'a, b'],
    ...end,
  ])
})
