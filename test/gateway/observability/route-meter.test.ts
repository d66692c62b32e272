import { Registry } from 'prom-client'
import t from 'tap'
import type { Decision } from '../../../gateway/observability/decision.ts'
import { createRouteMeters } from '../../../gateway/observability/route-meter.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

function routeMeters() {
  const registry = new Registry()
  return { registry, meters: createRouteMeters([registry]) }
}

t.test('finished() labels a request with its method, its status and the class of the status', async (t) => {
  const { registry, meters } = routeMeters()
  const meter = meters.of('p/one')
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    meter.finished(method, 200, 1)
  for (const method of ['PROPFIND', 'get', '']) meter.finished(method, 405, 0.5)
  meter.finished('GET', 201, 2)
  meter.finished('GET', 200, 3)
  t.strictSame(await seriesOf(registry, 'scopegate_http_requests_total'), [
    '{route="p/one",method="GET",code="200"} 2',
    '{route="p/one",method="HEAD",code="200"} 1',
    '{route="p/one",method="POST",code="200"} 1',
    '{route="p/one",method="PUT",code="200"} 1',
    '{route="p/one",method="PATCH",code="200"} 1',
    '{route="p/one",method="DELETE",code="200"} 1',
    '{route="p/one",method="OPTIONS",code="200"} 1',
    '{route="p/one",method="_OTHER",code="405"} 3',
    '{route="p/one",method="GET",code="201"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_http_request_duration_seconds_sum'), [
    '{route="p/one",method="GET",code_class="2xx"} 6',
    '{route="p/one",method="HEAD",code_class="2xx"} 1',
    '{route="p/one",method="POST",code_class="2xx"} 1',
    '{route="p/one",method="PUT",code_class="2xx"} 1',
    '{route="p/one",method="PATCH",code_class="2xx"} 1',
    '{route="p/one",method="DELETE",code_class="2xx"} 1',
    '{route="p/one",method="OPTIONS",code_class="2xx"} 1',
    '{route="p/one",method="_OTHER",code_class="4xx"} 1.5',
  ])
})

t.test('a meter counts decisions, audit-only decisions and rate limits separately', async (t) => {
  const { registry, meters } = routeMeters()
  const meter = meters.of('p/one')
  for (let count = 0; count < 2; count += 1) meter.decided({ decision: 'allow', reason: 'ok' })
  meter.decided({ decision: 'challenge', reason: 'anonymous' })
  for (let count = 0; count < 3; count += 1) meter.reported({ decision: 'deny', reason: 'condition' })
  for (let count = 0; count < 4; count += 1) meter.rateLimited('allowed')
  for (let count = 0; count < 5; count += 1) meter.rateLimited('limited')
  t.strictSame(await seriesOf(registry, 'scopegate_auth_decisions_total'), [
    '{route="p/one",decision="allow",reason="ok"} 2',
    '{route="p/one",decision="challenge",reason="anonymous"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_auth_reported_total'), [
    '{route="p/one",decision="deny",reason="condition"} 3',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_rate_limit_total'), [
    '{route="p/one",outcome="allowed"} 4',
    '{route="p/one",outcome="limited"} 5',
  ])
})

t.test('sessionEnded() uses a fixed set of labels for close codes', async (t) => {
  const { registry, meters } = routeMeters()
  const meter = meters.of('p/one')
  for (const code of [0, 999, 1000, 1015, 1016, 2999, 3000, 3999, 4000, 4999]) meter.sessionEnded(code)
  t.strictSame(await seriesOf(registry, 'scopegate_websocket_sessions_closed_total'), [
    '{route="p/one",code="other"} 4',
    '{route="p/one",code="1000"} 1',
    '{route="p/one",code="1015"} 1',
    '{route="p/one",code="3xxx"} 2',
    '{route="p/one",code="4xxx"} 2',
  ])
})

t.test('remove() removes all series of one route, and later increments on them are lost', async (t) => {
  const { registry, meters } = routeMeters()
  const denied: Decision = { decision: 'deny', reason: 'condition' }
  const count = (meter: ReturnType<typeof meters.of>): void => {
    meter.finished('GET', 200, 1)
    meter.asked(200)
    meter.decided(denied)
    meter.reported(denied)
    meter.rateLimited('limited')
    meter.rejectedBy('api')
  }
  const [removed, kept] = [meters.of('p/removed'), meters.of('p/kept')]
  for (const meter of [removed, kept]) {
    count(meter)
    meter.sessionEnded(1000)
    meter.sessionEnded(4000)
  }
  const seriesWith = async (route: string): Promise<number> =>
    (await registry.metrics()).split('\n').filter((line) => line.includes(`route="${route}"`)).length
  const before = await seriesWith('p/kept')
  t.equal(await seriesWith('p/removed'), before)
  meters.remove('p/removed')
  t.equal(await seriesWith('p/removed'), 0)
  count(removed)
  t.equal(await seriesWith('p/removed'), 0)
  t.equal(await seriesWith('p/kept'), before)
})
