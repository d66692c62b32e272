import fc from 'fast-check'
import t from 'tap'
import { protectedResourceDocument } from '../../../gateway/discovery/protected-resource.ts'
import { checkAccess } from '../../../policy-engine/decide/check-access.ts'
import { buildRouteTable } from '../../../policy-engine/match/route-table.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { testResources } from '../../fixtures/test-resources.ts'

const RESOURCES = testResources(['/mcp', '/mcp/admin', '/api/courses', '/a.b'])
const at = (path: string): string => RESOURCES.of(path).path

t.test('of() returns the longest resource path that contains a path, by whole segments', async (t) => {
  t.same(['/mcp', '/mcp/', '/mcp/x', '/mcp/adm', '/mcp/adminx'].map(at), Array(5).fill('/mcp'))
  t.same(['/mcp/admin', '/mcp/admin/', '/mcp/admin/x/y'].map(at), Array(3).fill('/mcp/admin'))
  t.same(
    ['/', '/mcpx', '/mc', '/MCP', '/mcp;x', '/mcp%2Fx', '/api', '/api/course', '/aXb'].map(at),
    Array(9).fill(''),
  )
})

t.test('ofTemplate() returns every resource that a path of the template can belong to', async (t) => {
  const met = (template: string) => RESOURCES.ofTemplate(template).map(({ path }) => path)
  t.same(met('/mcp'), ['/mcp'])
  t.same(met('/mcp/{tool}'), ['/mcp/admin', '/mcp'])
  t.same(met('/mcp/{tool}/**'), ['/mcp/admin', '/mcp'])
  t.same(met('/mcp/admin/**'), ['/mcp/admin'])
  t.same(met('/api/{family}'), ['/api/courses', ''])
  t.same(met('/api/students/{id}'), [''])
  t.same(met('/**'), ['/api/courses', '/mcp/admin', '/mcp', '/a.b', ''])
  t.same(met('/'), [''])
})

const SEGMENT = fc.constantFrom('mcp', 'admin', 'api', 'courses', 'x', 'a.b', 'mcpx')
const TEMPLATE = fc
  .tuple(fc.array(fc.oneof(SEGMENT, fc.constant('{}')), { maxLength: 4 }), fc.boolean())
  .map(([parts, below]) => {
    const named = parts.map((part, index) => (part === '{}' ? `{p${index}}` : part))
    return `/${[...named, ...(below ? ['**'] : [])].join('/')}`
  })
const PATH = fc.array(SEGMENT, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`)

t.test('every path that matches a template belongs to one of the resources of the template', async () => {
  fc.assert(
    fc.property(TEMPLATE, PATH, (template, path) => {
      const table = buildRouteTable([{ methods: ['GET'], path: template }])
      if (table.match('GET', path).kind !== 'route') return true
      const met = RESOURCES.ofTemplate(template)
      return met.includes(RESOURCES.of(path))
    }),
    { numRuns: 2_000 },
  )
})

t.test('the metadata names the resource that the audience check requires', async () => {
  const issuers = ['https://a.test', 'https://b.test']
  const origins = fc.constantFrom('https://api.test', 'http://127.0.0.1:8080', 'https://[::1]:8443')
  const entry = fc.record({
    path: fc.array(SEGMENT, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`),
    issuers: fc.option(fc.shuffledSubarray(issuers, { minLength: 1 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(
      origins,
      fc.uniqueArray(entry, { selector: ({ path }) => path, maxLength: 4 }),
      PATH,
      fc.constantFrom(...issuers),
      (baseUrl, entries, path, issuer) => {
        const resources = testResources(entries, { baseUrl, issuers })
        const asked = resources.of(path)
        for (const resource of resources.all) {
          const document = protectedResourceDocument({
            resource,
            resources,
            operatorCatalogue: new Map(),
            routes: [],
            seesCertificates: false,
          })
          // Builds the caller from the document, because a client reads only the document.
          const told = JSON.parse(document.body)
          const caller = aCaller({ audience: [told.resource], issuer })
          const rejection = checkAccess({ nowSeconds: 0, resource: asked }, caller, {
            anonymous: 'deny',
            authentication: undefined,
            scopes: undefined,
            when: [],
          })
          const isGood = resource === asked && told.authorization_servers.includes(issuer)
          if ((rejection === undefined) !== isGood) return false
          if (resource.metadataUrl !== wellKnown(told.resource)) return false
        }
        return true
      },
    ),
    { numRuns: 500 },
  )
})

/** Clients compute the metadata URL of a resource with this rule. RFC 9728 section 3.1. */
function wellKnown(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
}
