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
  const meterOf = createUpstreamMeters([registry], () => [])
  const [a, b] = [meterOf('a'), meterOf('b')]
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
