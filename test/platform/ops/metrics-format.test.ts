import { Counter, Gauge, Registry } from 'prom-client'
import t from 'tap'
import { BufferedHistogram } from '../../../platform/ops/buffered-histogram.ts'
import { chooseMetricsFormat, formatMetrics, metricsOf } from '../../../platform/ops/metrics-format.ts'

const OPEN_METRICS = 'application/openmetrics-text'

t.test('chooseMetricsFormat() returns OpenMetrics only if the client prefers it', async (t) => {
  for (const accept of [
    OPEN_METRICS,
    `${OPEN_METRICS}; version=1.0.0`,
    `${OPEN_METRICS};version=1.0.0;charset=utf-8;q=0.6`,
    ` Application/OpenMetrics-Text ; VERSION=1.0.0 `,
    `${OPEN_METRICS};version=1.0.0,${OPEN_METRICS};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
    `${OPEN_METRICS};version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.4,*/*;q=0.1`,
    `text/plain;q=0.5,${OPEN_METRICS}`,
    `text/plain, ${OPEN_METRICS}`,
    `text/plain;q=0, ${OPEN_METRICS};q=0.001, */*`,
  ])
    t.equal(chooseMetricsFormat(accept), 'openmetrics', accept)
})

t.test('chooseMetricsFormat() returns the text format for every other value of Accept', async (t) => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/plain',
    'application/*',
    'application/json',
    `${OPEN_METRICS};q=0`,
    `${OPEN_METRICS};q=0.000`,
    `${OPEN_METRICS};q=2`,
    `${OPEN_METRICS};q=-1`,
    `${OPEN_METRICS};q=1e3`,
    `${OPEN_METRICS};q=NaN`,
    `${OPEN_METRICS};q=`,
    `${OPEN_METRICS};q=0.0001`,
    `${OPEN_METRICS};version=0.0.1`,
    `${OPEN_METRICS};version=2.0.0`,
    `${OPEN_METRICS}-2`,
    `x${OPEN_METRICS}`,
    `${OPEN_METRICS};q=0.4,text/plain;q=0.5`,
    `${OPEN_METRICS};q=0.4,text/*;q=0.5`,
    `${OPEN_METRICS};q=0.4,*/*`,
    ';'.repeat(8_000),
    ','.repeat(8_000),
    `"${OPEN_METRICS}"`,
    '__proto__;constructor=1;q=1',
  ])
    t.equal(chooseMetricsFormat(accept), 'text', accept?.slice(0, 80) ?? 'no header')
})

async function someMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = new Counter({ name: 'asked_total', help: 'How many.', labelNames: ['path'], registers })
  counter.inc({ path: 'a "quoted"\n\\ name' }, 2)
  new Gauge({ name: 'open', help: 'Now.', registers }).set(1.5)
  const histogram = new BufferedHistogram<never>({
    ...{ name: 'took_seconds', help: 'How long.', registers },
    buckets: [0.5, 1, 10],
  })
  histogram.child({}).observe(0.75, 'abc')
  return metricsOf(registry)
}

t.test(
  'formatMetrics() writes OpenMetrics with exemplars, canonical bounds and the final line',
  async (t) => {
    const metrics = await someMetrics()
    const text = await formatMetrics(metrics, 'openmetrics')
    t.equal(
      text.replace(/(?<= 0\.75 )\d{10}(?:\.\d+)?$/m, 'TIME'),
      `# HELP asked How many.
# TYPE asked counter
asked_total{path="a \\"quoted\\"\\n\\\\ name"} 2
# HELP open Now.
# TYPE open gauge
open 1.5
# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.5"} 0
took_seconds_bucket{le="1.0"} 1 # {trace_id="abc"} 0.75 TIME
took_seconds_bucket{le="10.0"} 1
took_seconds_bucket{le="+Inf"} 1
took_seconds_sum 0.75
took_seconds_count 1
# EOF
`,
    )
    t.match(await formatMetrics(metrics, 'text'), 'asked_total{path=', 'a counter keeps its name')
  },
)

t.test('formatMetrics() writes the Prometheus text format without exemplars', async (t) => {
  const text = await formatMetrics(await someMetrics(), 'text')
  t.match(text, /^# TYPE asked_total counter\nasked_total\{path="a \\"quoted\\"\\n\\\\ name"\} 2$/m)
  t.match(text, /^took_seconds_bucket\{le="1"\} 1$/m)
  t.notMatch(text, /trace_id|EOF/)
})
