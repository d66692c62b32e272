import { mock } from 'node:test'
import t from 'tap'
import { createExitedCounts } from '../../../gateway/cluster/exited-counts.ts'
import type { MetricJson, MetricsJson } from '../../../platform/ops/metrics-format.ts'

const metric = (name: string, type: string, values: Readonly<Record<string, number>>, label = 'route') => ({
  ...{ name, type, help: name },
  values: Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
})

const counts = (name: string, { metrics }: { readonly metrics: MetricsJson }) =>
  Object.fromEntries(
    metrics
      .filter((one) => one.name === name)
      .flatMap(({ values }) => values.map(({ labels, value }) => [Object.values(labels)[0], value])),
  )

const policies = (hash: string, ...routes: string[]) => ({
  hash,
  describe: async () => JSON.stringify({ hash, routes: routes.map((name) => ({ name })) }),
})

const upstreams = (...names: string[]): MetricJson =>
  metric('scopegate_upstream_up', 'gauge', Object.fromEntries(names.map((name) => [name, 1])), 'upstream')

t.test('the totals of exited workers add up, and their gauges do not remain', async (t) => {
  const exited = createExitedCounts()
  exited.add([metric('requests_total', 'counter', { 'p/a': 2 }), metric('open', 'gauge', { 'p/a': 5 })])
  exited.add([metric('requests_total', 'counter', { 'p/a': 3, 'p/b': 1 })])
  t.strictSame(counts('requests_total', exited), { 'p/a': 5, 'p/b': 1 })
  t.strictSame(counts('open', exited), {})
})

t.test('the series of removed routes and upstreams of exited workers expire after ten minutes', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const exited = createExitedCounts()
  exited.add([
    metric('requests_total', 'counter', { 'p/stays': 1, 'p/goes': 1, 'p/returns': 1, '-': 1 }),
    metric('retries_total', 'counter', { own: 1, other: 1 }, 'upstream'),
  ])
  const scrape = (active: ReturnType<typeof policies>, ...names: string[]) =>
    exited.retire({ ...active, running: [[upstreams(...names)]] })
  await scrape(policies('1', 'p/stays', 'p/goes', 'p/returns'), 'own', 'other')
  await scrape(policies('2', 'p/stays'), 'own')
  mock.timers.tick(599_999)
  await scrape(policies('3', 'p/stays', 'p/returns'), 'own')
  t.strictSame(counts('requests_total', exited), { 'p/stays': 1, 'p/goes': 1, 'p/returns': 1, '-': 1 })
  mock.timers.tick(1)
  await scrape(policies('3', 'p/stays', 'p/returns'), 'own')
  t.strictSame(counts('requests_total', exited), { 'p/stays': 1, 'p/returns': 1, '-': 1 })
  t.strictSame(counts('retries_total', exited), { own: 1 })
})

t.test('retire() reads the routes only after a change of the policies', async (t) => {
  const exited = createExitedCounts()
  let reads = 0
  const active = (hash: string, text: string | undefined) => ({
    ...{ hash, running: [] },
    describe: async () => {
      reads += 1
      return text
    },
  })
  await exited.retire(active('1', undefined))
  await exited.retire(active('1', '{"hash":"1","routes":[]}'))
  t.equal(reads, 2, 'reads again if no worker has replied')
  await exited.retire(active('1', 'not read'))
  t.equal(reads, 2)
})
