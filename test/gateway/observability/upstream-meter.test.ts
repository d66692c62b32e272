import { Registry } from 'prom-client'
import t from 'tap'
import { createUpstreamMeters } from '../../../gateway/observability/upstream-meter.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('an upstream is up until all of its targets are ejected', async (t) => {
  const registry = new Registry()
  createUpstreamMeters([registry], () => [
    { name: 'a', state: 'closed' },
    { name: 'b', state: 'half_open' },
    { name: 'c', state: 'open' },
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
})

t.test('a removed upstream has no series', async (t) => {
  const registry = new Registry()
  let active: readonly { readonly name: string; readonly state: 'open' }[] = [
    { name: 'a', state: 'open' },
    { name: 'b', state: 'open' },
  ]
  const meters = createUpstreamMeters([registry], () => active)
  for (const { name } of active) {
    const meter = meters.of(name)
    meter.responded(200, 1)
    meter.failed('reset')
    meter.retried()
  }
  const shown = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.includes(`upstream="${name}"`))
  const complete = (await shown('a')).length
  t.ok(complete > 5)
  active = active.filter(({ name }) => name === 'b')
  t.equal((await shown('a')).length, complete - 2, 'the gauges of inactive upstreams')
  t.equal((await shown('b')).length, complete)
  meters.remove('a')
  t.same(await shown('a'), [])
  t.equal((await shown('b')).length, complete)
})
