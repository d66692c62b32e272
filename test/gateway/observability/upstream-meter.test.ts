import { Registry } from 'prom-client'
import t from 'tap'
import { createUpstreamMeters, type UpstreamLoad } from '../../../gateway/observability/upstream-meter.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

const HEALTH = [
  { target: 'http://1', isHealthy: true },
  { target: 'http://2', isHealthy: false },
]

t.test('the gauges of an upstream show its circuit, its connections and its queue', async (t) => {
  const registry = new Registry()
  createUpstreamMeters([registry], () => [
    { name: 'a', state: 'closed', openConnections: 3, pendingRequests: 4, health: HEALTH },
    { name: 'b', state: 'half_open', openConnections: 0, pendingRequests: 0, health: [] },
    { name: 'c', state: 'open', openConnections: 1, pendingRequests: 2, health: [] },
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_up'), [
    '{upstream="a"} 1',
    '{upstream="b"} 1',
    '{upstream="c"} 0',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_circuit_state'), [
    '{upstream="a"} 0',
    '{upstream="b"} 1',
    '{upstream="c"} 2',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_connections'), [
    '{upstream="a"} 3',
    '{upstream="b"} 0',
    '{upstream="c"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_pending_requests'), [
    '{upstream="a"} 4',
    '{upstream="b"} 0',
    '{upstream="c"} 2',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_target_healthy'), [
    '{upstream="a",target="http://1"} 1',
    '{upstream="a",target="http://2"} 0',
  ])
})

t.test('the meter of an upstream counts responses by class, failures by reason, and retries', async (t) => {
  const registry = new Registry()
  const meters = createUpstreamMeters([registry], () => [])
  const [a, b] = [meters.of('a'), meters.of('b')]
  a.responded(200, 1)
  a.responded(204, 2)
  a.responded(500, 4)
  a.responded(200, 8)
  b.responded(200, 16)
  a.failed('reset')
  a.failed('timeout')
  a.failed('reset')
  a.retried()
  a.retried()
  a.probed('http://1', 'success')
  a.probed('http://1', 'success')
  a.probed('http://2', 'timeout')
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_request_duration_seconds_sum'), [
    '{upstream="a",code_class="2xx"} 11',
    '{upstream="a",code_class="5xx"} 4',
    '{upstream="b",code_class="2xx"} 16',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_errors_total'), [
    '{upstream="a",reason="reset"} 2',
    '{upstream="a",reason="timeout"} 1',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_retries_total'), ['{upstream="a"} 2'])
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_health_checks_total'), [
    '{upstream="a",target="http://1",result="success"} 2',
    '{upstream="a",target="http://2",result="timeout"} 1',
  ])
  a.removed('http://1')
  a.probed('http://2', 'timeout')
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_health_checks_total'), [
    '{upstream="a",target="http://2",result="timeout"} 2',
  ])
  a.probed('http://1', 'success')
  t.strictSame(await seriesOf(registry, 'scopegate_upstream_health_checks_total'), [
    '{upstream="a",target="http://2",result="timeout"} 2',
    '{upstream="a",target="http://1",result="success"} 1',
  ])
})

t.test('a removed upstream has no series', async (t) => {
  const registry = new Registry()
  let active: readonly UpstreamLoad[] = [
    { name: 'a', state: 'open', openConnections: 0, pendingRequests: 0, health: HEALTH },
    { name: 'b', state: 'open', openConnections: 0, pendingRequests: 0, health: HEALTH },
  ]
  const meters = createUpstreamMeters([registry], () => active)
  for (const { name } of active) {
    const meter = meters.of(name)
    meter.responded(200, 1)
    meter.failed('reset')
    meter.retried()
    meter.probed('http://1', 'status')
  }
  const shown = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.includes(`upstream="${name}"`))
  const complete = (await shown('a')).length
  t.ok(complete > 5)
  active = active.filter(({ name }) => name === 'b')
  t.equal((await shown('a')).length, complete - 6, 'the gauges of inactive upstreams')
  t.equal((await shown('b')).length, complete)
  meters.remove('a')
  t.same(await shown('a'), [])
  t.equal((await shown('b')).length, complete)
})
