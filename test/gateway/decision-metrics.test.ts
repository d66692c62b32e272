import t from 'tap'
import { startDecisionEndpoint } from '../fixtures/a-decision-endpoint.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

for (const [protocol, method, target] of [
  ['auth-request', 'x-original-method', 'x-original-uri'],
  ['forward-auth', 'x-forwarded-method', 'x-forwarded-uri'],
] as const)
  t.test(
    `${protocol}: metrics and access log have the status that the client gets, and the mode`,
    async (t) => {
      const { decisions, gateway, log } = await startDecisionEndpoint(t, protocol)
      const ask = (path: string, token?: string) =>
        send(decisions, { token, headers: { [method]: 'GET', [target]: path } })
      await ask('/api/courses', 'good')
      await ask('/api/courses', 'narrow')
      await ask('/api/limited')
      await ask('/api/limited')
      await ask('/nothing')
      await send(`${decisions}/auth.md`)
      await send(`${gateway.url}/api/courses`, { token: 'good' })
      await send(`${gateway.url}/api/courses`, { token: 'narrow' })
      const access = () => log().filter(({ event }) => event === 'access')
      await until('the access log has all requests', async () => access().length === 8)

      const statusOf = (path: string) =>
        access()
          .filter((line) => line['url.path'] === path)
          .map((line) => [line['http.response.status_code'], line['mode']])
      t.same(statusOf('/api/limited'), [
        [200, 'decision'],
        [429, 'decision'],
      ])
      t.same(statusOf('/nothing'), [[404, 'decision']])

      const metrics = (await send(`${gateway.managementUrl}/metrics`)).text
      const samples = (name: string) =>
        metrics
          .split('\n')
          .filter((line) => line.startsWith(`${name}{`))
          .map((line) => line.slice(name.length))
          .sort()
      t.same(samples('scopegate_decision_requests_total'), [
        '{route="-",code="404"} 1',
        '{route="test/limited",code="200"} 1',
        '{route="test/limited",code="429"} 1',
        '{route="test/list-courses",code="200"} 1',
        '{route="test/list-courses",code="403"} 1',
      ])
      t.match(samples('scopegate_http_requests_total'), [
        /^\{route="-",method="GET",code="404"\} 1$/,
        /code="200"\} 1$/,
        '{route="test/limited",method="GET",code="200"} 1',
        '{route="test/limited",method="GET",code="429"} 1',
        '{route="test/list-courses",method="GET",code="200"} 2',
        '{route="test/list-courses",method="GET",code="403"} 2',
      ])
    },
  )
