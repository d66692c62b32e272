import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { createPolicyMetrics } from '../../../gateway/observability/policy-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the policy metrics show the active policies only', async (t) => {
  const registry = new Registry()
  const update = createPolicyMetrics([registry], () => [])
  update({
    hash: 'first',
    routes: [
      { name: 'a/one', policy: 'a' },
      { name: 'b/one', policy: 'b' },
      { name: 'a/two', policy: 'a' },
    ],
    sources: [
      { name: 'billing', state: 'valid' },
      { name: 'courses', state: 'kept' },
      { name: 'orders', state: 'unavailable' },
    ],
  })
  t.strictSame(await seriesOf(registry, 'scopegate_policy_source_valid'), [
    '{source="billing"} 1',
    '{source="courses"} 0',
    '{source="orders"} 0',
  ])
  t.strictSame(await seriesOf(registry, 'scopegate_policy_info'), ['{hash="first"} 1'])
  t.strictSame(await seriesOf(registry, 'scopegate_policy_routes'), ['{policy="a"} 2', '{policy="b"} 1'])
  update({ hash: 'second', routes: [{ name: 'b/one', policy: 'b' }], sources: [] })
  t.strictSame(await seriesOf(registry, 'scopegate_policy_info'), ['{hash="second"} 1'])
  t.strictSame(await seriesOf(registry, 'scopegate_policy_routes'), ['{policy="b"} 1'])
  t.strictSame(await seriesOf(registry, 'scopegate_policy_source_valid'), [])
})

t.test(
  'the metric of the last fetch is the modification time of the file, or 0 without the file',
  async (t) => {
    const registry = new Registry()
    const folder = t.testdir({ fetched: '' })
    const lastFetchFile = join(folder, 'fetched')
    createPolicyMetrics([registry], () => [
      { name: 'billing', lastFetchFile },
      { name: 'courses', lastFetchFile: join(folder, 'missing') },
      { name: 'orders' },
    ])
    for (const seconds of [1_000, 2_000]) {
      utimesSync(lastFetchFile, 0, seconds)
      t.strictSame(await seriesOf(registry, 'scopegate_policy_source_last_fetch_timestamp_seconds'), [
        `{source="billing"} ${seconds}`,
        '{source="courses"} 0',
      ])
    }
  },
)
