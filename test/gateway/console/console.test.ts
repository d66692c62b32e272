import t from 'tap'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'

t.test('the console shows the overview, the routes and a route, as pages and as JSON', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const { managementUrl } = gateway
  await send(`${gateway.url}/api/courses`, { method: 'POST', headers: { authorization: 'Bearer wrong' } })

  const overview = await send(`${managementUrl}/`)
  t.equal(overview.status, 200)
  t.equal(overview.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(overview.headers.get('content-security-policy'), /^default-src 'none'; style-src 'sha256-/)
  t.match(overview.text, '<h1>Overview</h1>')

  const routes = await send(`${managementUrl}/console/routes?format=json`)
  t.match(routes.json, { total: 12, found: 12, page: 1, pages: 1, owners: ['team-test'] })
  t.match((await send(`${managementUrl}/console/routes`)).text, '/console/route?name=test%2Flist-courses')

  const route = await send(`${managementUrl}/console/route?name=test/create-course&format=json`)
  t.match(route.json, {
    route: { name: 'test/create-course' },
    lastMinute: { requests: 1, denied: 1, denials: { invalid_token: 1 } },
  })
  t.equal((await send(`${managementUrl}/console/route?name=test/other`)).status, 404)
})
