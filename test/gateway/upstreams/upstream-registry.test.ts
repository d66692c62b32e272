import t from 'tap'
import type { Upstream, UpstreamSettings } from '../../../gateway/upstreams/upstream.ts'
import { createUpstreamRegistry } from '../../../gateway/upstreams/upstream-registry.ts'
import { anUpstream } from '../../fixtures/a-gateway.ts'

/** Creates a registry. Stores the names of created and closed upstreams. */
function aRegistry() {
  const created: string[] = []
  const closed: string[] = []
  const registry = createUpstreamRegistry([anUpstream('api', 'http://api.test')], (settings) => {
    created.push(settings.name)
    return { name: settings.name, close: async () => void closed.push(settings.name) } as unknown as Upstream
  })
  return { created, closed, registry }
}

const own = (name: string, url = 'http://own.test'): UpstreamSettings => ({
  ...anUpstream(name, url),
  policySource: 'billing',
})

t.test(
  'the registry keeps an upstream with unchanged settings, and creates a changed upstream again',
  async (t) => {
    const { created, closed, registry } = aRegistry()
    const first = registry.prepare([own('billing/a'), own('billing/b')])
    t.equal(registry.activate([own('billing/a'), own('billing/b')]), true)
    const second = registry.prepare([own('billing/a'), own('billing/b', 'http://new.test')])
    t.equal(second.get('billing/a'), first.get('billing/a'))
    t.not(second.get('billing/b'), first.get('billing/b'))
    t.equal(second.get('api'), first.get('api'))
    t.equal(registry.activate([own('billing/a'), own('billing/b', 'http://new.test')]), true)
    t.equal(registry.activate([own('billing/a'), own('billing/b', 'http://new.test')]), false)
    t.same(created, ['api', 'billing/a', 'billing/b', 'billing/b'])
    t.same(
      registry.active.map(({ name }) => name),
      ['api', 'billing/a', 'billing/b'],
    )
    t.same(closed, [], 'requests of the previous policies can use the removed upstream')
    await registry.close()
    t.same(closed.toSorted(), ['api', 'billing/a', 'billing/b', 'billing/b'])
  },
)

t.test('an upstream of policies that were not activated is removed', async (t) => {
  const { closed, registry } = aRegistry()
  registry.prepare([own('billing/a')])
  registry.activate([])
  t.same(
    registry.active.map(({ name }) => name),
    ['api'],
  )
  await registry.close()
  t.same(closed.toSorted(), ['api', 'billing/a'])
})

t.test('the number of comparisons is proportional to the number of upstreams', async (t) => {
  const { registry } = aRegistry()
  const count = 300
  let reads = 0
  const all = Array.from({ length: count }, (_, at): UpstreamSettings => {
    const { name, ...settings } = own(`billing/u${at}`)
    return Object.defineProperty(settings as UpstreamSettings, 'name', {
      enumerable: true,
      get: () => {
        reads += 1
        return name
      },
    })
  })
  registry.prepare(all)
  registry.activate(all)
  registry.prepare(all)
  registry.activate(all)
  t.equal(registry.active.length, count + 1)
  t.ok(reads < 40 * count, `${reads} reads of a name`)
  await registry.close()
})
