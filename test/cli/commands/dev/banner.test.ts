import t from 'tap'
import { exampleTarget, formatBanner } from '../../../../cli/commands/dev/banner.ts'
import { aPolicyRoute } from '../../../fixtures/a-policy-route.ts'

const get = (path: string, anonymous: 'allow' | 'challenge' = 'allow') => aPolicyRoute({ path, anonymous })

t.test('the banner suggests a route of the loaded policies', async (t) => {
  t.equal(exampleTarget([get('/v1/trains')]), '/v1/trains')
  t.equal(exampleTarget([aPolicyRoute({ methods: ['POST'] })]), undefined)
  t.equal(exampleTarget([]), undefined)
})

t.test(
  'the banner prefers anonymous routes without parameters, and collections to single resources',
  async (t) => {
    const routes = [
      get('/private', 'challenge'),
      get('/v1/trains/{id}'),
      get('/v1/account'),
      get('/v1/trains'),
    ]
    t.equal(exampleTarget(routes), '/v1/trains')
    t.equal(exampleTarget(routes.slice(0, 3)), '/v1/account')
    t.equal(exampleTarget(routes.slice(0, 2)), '/v1/trains/1')
    t.equal(exampleTarget(routes.slice(0, 1)), '/private')
  },
)

t.test('the suggested path has a value for each parameter and no wildcard', async (t) => {
  t.equal(exampleTarget([get('/v1/{line}/trains/{id}')]), '/v1/1/trains/1')
  t.equal(exampleTarget([get('/files/**')]), '/files/')
})

t.test('the banner does not suggest a route that requires a header', async (t) => {
  const mcp = aPolicyRoute({ path: '/mcp', matchHeaders: [{ name: 'mcp-method', value: 'ping' }] })
  t.equal(exampleTarget([mcp]), undefined)
})

t.test('the banner has at most 12 lines, and shows no routes', async (t) => {
  const routes = ['/v1/trains', '/v1/lines', '/v1/stations'].map((path) => get(path))
  const text = formatBanner({
    baseUrl: 'http://127.0.0.1:8080',
    routes,
    startedAtMs: performance.now(),
    gateway: { url: 'http://127.0.0.1:8080', managementUrl: 'http://127.0.0.1:9091' },
    takenManagementPort: 9090,
  })
  t.ok(text.trim().split('\n').length <= 12, text)
  t.notMatch(text, '/v1/lines')
  t.match(text, 'routes --url http://127.0.0.1:9091')
  t.match(text, 'http://127.0.0.1:9091  (port 9090 was in use)')
})
