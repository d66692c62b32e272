import { Counter, Gauge, Registry } from 'prom-client'
import t from 'tap'
import { createSampler } from '../../../gateway/console/sample.ts'
import { BufferedCounter } from '../../../gateway/observability/buffered-counter.ts'
import { createRouteMeters } from '../../../gateway/observability/route-meter.ts'

t.test('a sample contains only the changes since the last sample', async (t) => {
  const registry = new Registry()
  const meters = createRouteMeters([registry])
  const route = meters.of('courses/list')
  const other = meters.of('courses/read')
  const sample = createSampler(registry)
  route.finished('GET', 200, 0.004)
  route.finished('GET', 503, 20)
  other.finished('GET', 200, 0.02)
  route.decided({ decision: 'deny', reason: 'expired' })
  route.decided({ decision: 'allow', reason: 'ok' })
  const { routes, latency } = (await sample()).counts
  t.strictSame(Object.fromEntries(routes), {
    'courses/list': { requests: 2, failed: 1, seconds: 20.004, denied: { expired: 1 } },
    'courses/read': { requests: 1, failed: 0, seconds: 0.02, denied: {} },
  })
  t.strictSame(latency, [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])

  t.strictSame((await sample()).counts.routes, [])
  route.finished('POST', 200, 0.25)
  await registry.metrics() // a scrape changes nothing
  const [changed] = (await sample()).counts.routes
  t.strictSame(changed, ['courses/list', { requests: 1, failed: 0, seconds: 0.25, denied: {} }])

  meters.remove('courses/list')
  meters.of('courses/list').finished('GET', 200, 1)
  t.equal((await sample()).counts.routes[0]?.[1].requests, 1, 'a series that was removed begins again')
})

t.test('a sample contains the lookups and DPoP proofs that a process did without Redis', async (t) => {
  const registry = new Registry()
  const registers = [registry]
  const proofs = new Counter({ name: 'scopegate_dpop_replay_fallback_total', help: 'test', registers })
  const lookups = new BufferedCounter({
    name: 'scopegate_token_shared_cache_total',
    help: 'test',
    labelNames: ['issuer', 'result'],
    registers,
  })
  const sample = createSampler(registry)
  proofs.inc(3)
  for (const result of ['hit', 'miss', 'stale', 'revoked', 'bad', 'failed', 'open', 'away'])
    lookups.child({ issuer: 'a', result }).inc()
  t.match((await sample()).counts, { redisFallbacks: { proofs: 3, tokenLookups: 3 } })
  t.match((await sample()).counts, { redisFallbacks: { proofs: 0, tokenLookups: 0 } })
})

t.test('a sample does not reset the delay of the event loop, which the next scrape reports', async (t) => {
  const registry = new Registry()
  let reads = 0
  new Gauge({
    name: 'scopegate_event_loop_delay_seconds',
    help: 'test',
    registers: [registry],
    collect() {
      reads += 1
    },
  })
  await createSampler(registry)()
  t.equal(reads, 0)
})
