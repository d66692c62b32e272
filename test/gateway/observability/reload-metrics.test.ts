import { Registry } from 'prom-client'
import t from 'tap'
import { createReloadMeter } from '../../../gateway/observability/reload-metrics.ts'
import { seriesOf } from '../../fixtures/series-of.ts'

t.test('the reload metrics start with a success, and count each reload', async (t) => {
  const registry = new Registry()
  const meter = createReloadMeter(registry)
  const hasState = async (success: number, failure: number, state: number): Promise<void> => {
    t.strictSame(await seriesOf(registry, 'scopegate_policy_reloads_total'), [
      `{result="success"} ${success}`,
      `{result="failure"} ${failure}`,
    ])
    t.strictSame(await seriesOf(registry, 'scopegate_policy_reload_success'), [String(state)])
  }
  await hasState(0, 0, 1)
  meter.reloaded('failure')
  await hasState(0, 1, 0)
  meter.reloaded('success')
  await hasState(1, 1, 1)
  meter.reloaded('failure')
  meter.restored()
  await hasState(1, 2, 1)
})
