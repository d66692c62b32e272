import { mock } from 'node:test'
import { Registry } from 'prom-client'
import t from 'tap'
import { retireSeries } from '../../../gateway/observability/metrics.ts'
import { createRouteMeters } from '../../../gateway/observability/route-meter.ts'
import { until } from '../../fixtures/until.ts'

const named = (...names: string[]) => names.map((name) => ({ name }))

t.test('the series of a removed route expire after a delay, except when the route returns', async (t) => {
  const registry = new Registry()
  const meters = createRouteMeters([registry])
  const tell = retireSeries(meters.remove, 20)
  const count = (name: string): void => {
    const meter = meters.of(name)
    meter.finished('GET', 200, 0.001)
    meter.asked(200)
    meter.decided({ decision: 'allow', reason: 'ok' })
    meter.rateLimited('allowed')
    meter.rejectedBy('api')
    meter.sessionEnded(1000)
  }
  const shown = async (name: string): Promise<number> =>
    (await registry.metrics()).split('\n').filter((line) => line.includes(`route="${name}"`)).length
  tell(named('a/stays', 'a/goes', 'a/returns'))
  for (const name of ['a/stays', 'a/goes', 'a/returns']) count(name)
  const each = await shown('a/goes')
  t.ok(each > 4)

  tell(named('a/stays'))
  t.equal(
    await shown('a/goes'),
    each,
    'not immediately: requests in progress still count, and one more scrape reads them',
  )
  tell(named('a/stays', 'a/returns'))
  await until('the series are removed', async () => (await shown('a/goes')) === 0)
  t.equal(await shown('a/stays'), each)
  t.equal(await shown('a/returns'), each)
  count('a/returns')
  t.match(await registry.metrics(), /requests_total\{route="a\/returns",method="GET",code="200"\} 2/)
  count('a/goes')
  t.match(await registry.metrics(), /requests_total\{route="a\/goes",method="GET",code="200"\} 1/, 'anew')
})

t.test('the series of a removed route expire after ten minutes', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const forgotten: string[] = []
  const tell = retireSeries((route) => forgotten.push(route))
  tell(named('a/goes'))
  tell([])
  mock.timers.tick(599_999)
  t.strictSame(forgotten, [])
  mock.timers.tick(1)
  t.strictSame(forgotten, ['a/goes'])
})

t.test(
  'retireSeries() starts a timer only for removed routes, and the timer does not keep the process alive',
  async (t) => {
    const setTimer = mock.method(globalThis, 'setTimeout')
    t.teardown(() => setTimer.mock.restore())
    const tell = retireSeries(() => undefined)
    tell(named('a/stays', 'a/goes'))
    tell(named('a/stays', 'a/goes'))
    t.equal(setTimer.mock.callCount(), 0)
    tell(named('a/stays'))
    t.equal(setTimer.mock.callCount(), 1)
    t.equal(setTimer.mock.calls[0]?.result?.hasRef(), false)
  },
)
