import { Counter, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { mergeMetrics } from '../../../gateway/cluster/aggregate-workers.ts'
import { BufferedCounter } from '../../../gateway/observability/buffered-counter.ts'
import { BufferedHistogram } from '../../../platform/ops/buffered-histogram.ts'
import { formatMetrics, metricsOf } from '../../../platform/ops/metrics-format.ts'

const CONFIG = { name: 'seconds', help: 'How long.', buckets: [0.01, 0.1, 1] }
const OBSERVED = [0.01, 0.010_1, 0, 1, 1.5, 0.5, 100, -1]

/** Removes exemplars, which are links to traces. This test creates no traces. */
function withoutExemplars(metrics: unknown): unknown {
  return JSON.parse(JSON.stringify(metrics, (key, value) => (key === 'exemplar' ? undefined : value)))
}

t.test('a histogram reports the same values as the histogram of prom-client', async (t) => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const buffered = new BufferedHistogram<'route' | 'code'>({ ...CONFIG, registers: [ours] })
  const stock = new Histogram({ ...CONFIG, labelNames: ['route', 'code'], registers: [theirs] })
  for (const labels of [
    { route: 'a "quoted"\n\\ name', code: '2xx' },
    { route: 'b', code: '5xx' },
  ])
    for (const value of OBSERVED) {
      buffered.child(labels).observe(value)
      stock.observe(labels, value)
    }
  buffered.child({ route: 'never', code: '2xx' })
  t.equal(await ours.metrics(), await theirs.metrics())
  t.equal(await ours.metrics(), await theirs.metrics(), 'a read changes nothing')
  t.same(withoutExemplars(await ours.getMetricsAsJSON()), withoutExemplars(await theirs.getMetricsAsJSON()))
})

t.test(
  'a counter reports the same values as the counter of prom-client, after any number of reads',
  async (t) => {
    const [ours, theirs] = [new Registry(), new Registry()]
    const config = { name: 'requests_total', help: 'How many.', labelNames: ['route'] as const }
    const buffered = new BufferedCounter({ ...config, registers: [ours] })
    const stock = new Counter({ ...config, registers: [theirs] })
    for (let reading = 0; reading < 3; reading += 1) {
      for (const route of ['a', 'b', 'a']) {
        buffered.child({ route }).inc()
        stock.inc({ route })
      }
      buffered.child({ route: 'never' })
      t.equal(await ours.metrics(), await theirs.metrics())
    }
  },
)

t.test('callers with the same set of labels share one series', async (t) => {
  const registry = new Registry()
  const histogram = new BufferedHistogram<'route'>({ ...CONFIG, registers: [registry] })
  histogram.child({ route: 'a' }).observe(1)
  histogram.child({ route: 'a' }).observe(1)
  t.match(await registry.metrics(), 'seconds_count{route="a"} 2')
})

t.test('the merged metrics add up the series of several processes', async (t) => {
  const parts = [new Registry(), new Registry()].map((registry) => {
    const histogram = new BufferedHistogram<'route'>({ ...CONFIG, registers: [registry] })
    new BufferedCounter({ name: 'requests_total', help: 'How many.', registers: [registry] }).child({}).inc()
    for (const value of OBSERVED) histogram.child({ route: 'a' }).observe(value)
    return metricsOf(registry)
  })
  const sum = await formatMetrics(mergeMetrics(await Promise.all(parts)), 'text')
  t.match(sum, `seconds_count{route="a"} ${2 * OBSERVED.length}`)
  t.match(sum, 'seconds_bucket{le="0.01",route="a"} 6')
  t.match(sum, /^requests_total 2$/m)
})

t.test('a bucket keeps the exemplar of its latest observation with a trace', async (t) => {
  const registry = new Registry()
  const child = new BufferedHistogram<never>({ ...CONFIG, registers: [registry] }).child({})
  child.observe(0.5, 'a'.repeat(32))
  child.observe(0.75, 'b'.repeat(32))
  child.observe(0.6)
  child.observe(7, 'c'.repeat(32))
  const [metric] = await metricsOf(registry)
  const exemplars = metric?.values.flatMap(({ labels, exemplar }) =>
    exemplar ? [[labels['le'], exemplar.labelSet['trace_id']?.[0], exemplar.value]] : [],
  )
  t.strictSame(exemplars, [
    [1, 'b', 0.75],
    ['+Inf', 'c', 7],
  ])
  const timestamp = metric?.values[2]?.exemplar?.timestamp ?? 0
  t.ok(timestamp > 1_700_000_000 && timestamp <= Date.now() / 1_000, 'in seconds')
})

t.test('remove() removes the matching series, and later increments on them are lost', async (t) => {
  const registry = new Registry()
  const config = { name: 'requests_total', help: 'How many.', labelNames: ['route'] as const }
  const counter = new BufferedCounter({ ...config, registers: [registry] })
  const histogram = new BufferedHistogram<'route'>({ ...CONFIG, registers: [registry] })
  const [removed, kept] = ['a', 'b'].map((route) => ({
    counter: counter.child({ route }),
    histogram: histogram.child({ route }),
  }))
  const count = (): void => {
    for (const one of [removed, kept]) {
      one?.counter.inc()
      one?.histogram.observe(1)
    }
  }
  count()
  await registry.metrics()
  for (const metric of [counter, histogram]) metric.remove(({ route }) => route === 'a')
  count()
  const text = await registry.metrics()
  t.notMatch(text, 'route="a"')
  t.match(text, 'requests_total{route="b"} 2')
  t.match(text, 'seconds_count{route="b"} 2')
})

t.test('a histogram registers itself in each registry', async (t) => {
  const registries = [new Registry(), new Registry()]
  const histogram = new BufferedHistogram<never>({ ...CONFIG, registers: registries })
  histogram.child({}).observe(1)
  for (const registry of registries) t.match(await registry.metrics(), /^seconds_count 1$/m)
})
