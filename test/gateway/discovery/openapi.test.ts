import t from 'tap'
import { buildOpenapi, type OpenapiOptions } from '../../../gateway/discovery/openapi.ts'
import type { PolicyRoute } from '../../../policy-engine/load/policy-route.ts'
import { buildRouteTable } from '../../../policy-engine/match/route-table.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'
import type { LooseJson } from '../../fixtures/loose-json.ts'

function build(routes: readonly PolicyRoute[], sources: OpenapiOptions['sources']): LooseJson {
  const document: unknown = buildOpenapi({
    baseUrl: 'https://api.test',
    name: 'Test',
    version: '1',
    bundledAuthorizationServer: true,
    catalogue: aCatalogue(),
    routes,
    match: buildRouteTable(routes).match,
    sources,
  })
  return document as LooseJson
}

t.test('buildOpenapi() omits operations without a route', async (t) => {
  const document = build(
    [aPolicyRoute()],
    [
      {
        upstream: 'api',
        document: {
          paths: {
            '/api/courses/{courseId}': { get: { summary: 'kept' }, delete: { summary: 'no route' } },
            '/internal/debug': { get: {} },
          },
        },
      },
      {
        upstream: 'other',
        document: { paths: { '/api/courses/{x}': { get: { summary: 'not its route' } } } },
      },
    ],
  )
  t.same(Object.keys(document.paths), ['/api/courses/{courseId}'])
  t.same(Object.keys(document.paths['/api/courses/{courseId}']), ['get'])
  t.equal(document.paths['/api/courses/{courseId}'].get.summary, 'kept')
})

t.test('buildOpenapi() takes access rules from policies, not from upstream documents', async (t) => {
  const document = build(
    [aPolicyRoute()],
    [
      {
        upstream: 'api',
        document: {
          security: [],
          paths: {
            '/api/courses/{id}': {
              get: { security: [{ theirs: [] }], servers: [{ url: 'http://10.0.0.1' }] },
            },
          },
          components: { securitySchemes: { theirs: { type: 'http', scheme: 'basic' } } },
        },
      },
    ],
  )
  const operation = document.paths['/api/courses/{id}'].get
  t.same(operation.security, [{ oauth2: ['courses:read'] }, {}])
  t.same(Object.keys(operation.responses), ['401', '403'])
  t.same(Object.keys(document.components.securitySchemes), ['oauth2'])
  t.notMatch(JSON.stringify(document), /10\.0\.0\.1|theirs/)
})

t.test('buildOpenapi() mentions the status 429 only if a route has a rate limit', async (t) => {
  const limited = aPolicyRoute({
    name: 'a/limited',
    path: '/a',
    rateLimit: { requests: 6, perMs: 60_000, by: 'client' },
  })
  const theirs = { responses: { 429: { description: 'theirs' } } }
  const document = build(
    [limited, aPolicyRoute()],
    [
      {
        upstream: 'api',
        document: {
          paths: { '/a': { get: theirs } },
          components: { responses: { TooManyRequests: { description: 'theirs' } } },
        },
      },
    ],
  )
  t.same(document.paths['/a'].get.responses['429'], { $ref: '#/components/responses/TooManyRequests' })
  t.same(Object.keys(document.components.responses.TooManyRequests.headers), [
    'Retry-After',
    'RateLimit',
    'RateLimit-Policy',
  ])
  t.equal(document.components.responses['api.TooManyRequests'].description, 'theirs')
  t.same(Object.keys(document.paths['/api/courses/{id}'].get.responses), ['401', '403', 'default'])
  const shared = { name: 'api', requests: 6, perMs: 60_000, key: 'client' } as const
  t.same(
    build([aPolicyRoute({ path: '/a', sharedLimits: [shared] })], []).paths['/a'].get.responses['429'],
    { $ref: '#/components/responses/TooManyRequests' },
    'a shared limit',
  )
})

t.test('buildOpenapi() separates components of two upstreams', async (t) => {
  const schema = (type: string) => ({ schemas: { Item: { type }, GatewayError: { type } } })
  const get = {
    get: { responses: { 200: { content: { j: { schema: { $ref: '#/components/schemas/Item' } } } } } },
  }
  const document = build(
    [
      aPolicyRoute({ name: 'a/a', path: '/a', upstream: 'one' }),
      aPolicyRoute({ name: 'b/b', path: '/b', upstream: 'two' }),
    ],
    [
      { upstream: 'one', document: { paths: { '/a': get }, components: schema('string') } },
      { upstream: 'two', document: { paths: { '/b': get }, components: schema('number') } },
    ],
  )
  t.equal(document.paths['/a'].get.responses['200'].content.j.schema.$ref, '#/components/schemas/Item')
  t.equal(document.paths['/b'].get.responses['200'].content.j.schema.$ref, '#/components/schemas/two.Item')
  t.equal(document.components.schemas['two.Item'].type, 'number')
  t.equal(
    document.components.schemas.GatewayError.type,
    'object',
    'the component of the gateway keeps its name',
  )
  t.equal(document.components.schemas['one.GatewayError'].type, 'string')
})

t.test('buildOpenapi() ignores malformed documents', async (t) => {
  for (const document of [
    {},
    { paths: [] },
    { paths: { '/a': null } },
    { paths: { '/a': { get: 1 } }, components: 2 },
  ])
    t.ok(build([aPolicyRoute()], [{ upstream: 'api', document }]).paths['/api/courses/{id}'].get)
})

t.test('buildOpenapi() keeps the description of an upstream below each of its mounts', async (t) => {
  const mounted = { upstream: 'api', matchHeaders: [], rewritePath: '/stations' }
  const document = build(
    [
      aPolicyRoute({ ...mounted, name: 'a/list', path: '/trains/stations', mount: '/trains' }),
      aPolicyRoute({ ...mounted, name: 'b/list', path: '/rail/stations', mount: '/rail' }),
      aPolicyRoute({
        ...mounted,
        name: 'c/list',
        path: '/stations',
        upstream: 'other',
        rewritePath: undefined,
      }),
    ],
    [
      {
        upstream: 'api',
        document: {
          paths: {
            '/stations': { get: { summary: 'every station', operationId: 'stations' } },
            '/trains/stations': { get: { summary: 'not behind the mount' } },
          },
        },
      },
    ],
  )
  t.same(Object.keys(document.paths), ['/trains/stations', '/rail/stations', '/stations'])
  t.match(document.paths['/trains/stations'].get, { summary: 'every station', operationId: 'stations' })
  t.equal(document.paths['/rail/stations'].get.summary, 'every station')
  t.notOk('operationId' in document.paths['/rail/stations'].get, 'an operation ID is unique in the document')
  t.not(document.paths['/stations'].get.summary, 'every station')
})
