import t from 'tap'
import type { ConsoleState } from '../../../gateway/console/console-source.ts'
import { createHistory } from '../../../gateway/console/history.ts'
import { routesPage } from '../../../gateway/console/routes-page.ts'
import { aPolicyRoute } from '../../fixtures/a-policy-route.ts'

const ROUTES = Array.from({ length: 10_000 }, (_, index) =>
  aPolicyRoute({
    name: `many/r${index}`,
    path: `/api/r${index}`,
    owner: 'team-a',
    upstream: 'api',
    anonymous: index % 2 === 0 ? 'allow' : 'deny',
    scopes: { all: [index < 3 ? 'orders:read' : 'courses:read'], any: [] },
  }),
)

const TESTS = {
  hash: 'h',
  routes: { 'many/r1': { passed: 2, failed: 0 }, 'many/r2': { passed: 0, failed: 1 } },
  withoutRoute: { passed: 1, failed: 0 },
}

const history = createHistory(0)
const pageOf = (routes: typeof ROUTES) =>
  routesPage({
    policies: { active: { hash: 'h' } },
    history: async () => history,
    describe: async () => ({ hash: 'h', routes, unavailable: [], implication: {} }),
    testSummary: async () => TESTS,
  } as unknown as ConsoleState)
const page = pageOf(ROUTES)

async function list(query: string) {
  const data = await page.data(new URLSearchParams(query))
  if (data === undefined) throw new Error('no data')
  return data
}

t.test('the list of 10,000 routes has pages', async (t) => {
  const first = await list('')
  t.match(first, { total: 10_000, found: 10_000, page: 1, pages: 200 })
  t.equal(first.routes.length, 50)
  t.match(await list('page=200'), { page: 200, routes: [{ name: /^many\/r9/ }] })
  for (const wanted of ['0', '-1', '201', 'x', '1e9', 'NaN', '1.5']) {
    const found = await list(`page=${wanted}`)
    t.ok(found.page >= 1 && found.page <= 200 && found.routes.length === 50, wanted)
  }
  const query = new URLSearchParams('page=2&scope=courses')
  const markup = page.render(await list(query.toString()), query).toString()
  t.ok(markup.length < 60_000, `${markup.length} characters`)
  t.match(markup, '/console/routes?page=3&#38;scope=courses')
  t.match(markup, '/console/routes?page=1&#38;scope=courses')
})

t.test('the list counts one route in the singular', async (t) => {
  for (const [routes, text] of [
    [ROUTES.slice(0, 1), '<p>1 of 1 route. '],
    [ROUTES.slice(0, 2), '<p>2 of 2 routes. '],
  ] as const) {
    const one = pageOf(routes)
    const query = new URLSearchParams()
    const data = await one.data(query)
    t.match(data && one.render(data, query).toString(), text)
  }
})

t.test('the list of routes has filters, which can be combined', async (t) => {
  t.match(await list('scope=orders'), { found: 3, pages: 1 })
  t.match(await list('anonymous=deny&scope=orders'), { found: 1, routes: [{ name: 'many/r1' }] })
  t.match(await list('path=r123'), { found: 11 })
  t.match(await list('owner=team-a'), { found: 10_000, owners: ['team-a'] })
  t.match(await list('owner=team-b'), { found: 0, page: 1, pages: 1, routes: [] })
  t.match(await list('upstream=other'), { found: 0 })
  t.match(await list('show=report'), { found: 0 })
  t.match(await list('show=denied'), { found: 0 })
  const counts = (denied: Record<string, number>, failed: number) => ({
    requests: 2,
    failed,
    seconds: 0,
    denied,
  })
  const sample = {
    routes: [
      ['many/r1', counts({ expired: 1 }, 0)],
      ['many/r2', counts({}, 1)],
    ] as [string, ReturnType<typeof counts>][],
    upstreams: [],
    issuers: [],
    latency: [],
    cacheHits: 0,
    cacheMisses: 0,
    revocations: 0,
    revocationGaps: 0,
    redisFallbacks: { rateLimits: 0, tokenLookups: 0, proofs: 0 },
    reloads: { success: 0, failure: 0 },
  }
  history.add([{ counts: sample, gauges: [] }], [], 1_000)
  t.match(await list('show=denied'), { found: 1, routes: [{ name: 'many/r1', lastMinute: { denied: 1 } }] })
  t.match(await list('show=failed'), { found: 1, routes: [{ name: 'many/r2', lastMinute: { failed: 1 } }] })
  t.match(await list('show=busy'), { found: 2 })
  t.match(await list('show=failed-tests'), {
    found: 1,
    routes: [{ name: 'many/r2', tests: { failed: 1 } }],
    tests: { passed: 3, failed: 1 },
  })
  t.match(await list('show=untested'), { found: 9_998 })
})

t.test(
  'the page shows the number of failed tests without a route if no worker sends the details',
  async (t) => {
    const { data, render } = routesPage({
      policies: { active: { hash: 'h' } },
      history: async () => history,
      describe: async () => ({ hash: 'h', routes: ROUTES, unavailable: [], implication: {} }),
      testSummary: async () => ({ ...TESTS, withoutRoute: { passed: 1, failed: 2 } }),
      testsOf: async () => undefined,
    } as unknown as ConsoleState)
    const query = new URLSearchParams()
    const found = await data(query)
    t.match(found, { testsWithoutRoute: { failed: 2, tests: undefined } })
    if (found === undefined) throw new Error('no data')
    const markup = render(found, query).toString()
    t.match(markup, 'Failed tests that match no route')
    t.match(markup, />2 failed<\/span>\. The results of the tests are not available yet/)
  },
)
