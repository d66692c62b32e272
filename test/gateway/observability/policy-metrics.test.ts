import { Registry } from 'prom-client'
import t from 'tap'
import { createPolicyMetrics } from '../../../gateway/observability/policy-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the policy metrics show the active policies only', async (t) => {
  const registry = new Registry()
  const update = createPolicyMetrics([registry])
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
