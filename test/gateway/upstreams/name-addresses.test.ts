import t from 'tap'
import { NameAddresses } from '../../../gateway/upstreams/name-addresses.ts'
import type { Address } from '../../../platform/net/resolve-name.ts'

function aName(answer: () => Promise<readonly Address[]>) {
  const at = { ms: 0 }
  let moved = 0
  let asked = 0
  const name = new NameAddresses('api.test', {
    resolve: (hostname) => {
      t.equal(hostname, 'api.test')
      asked += 1
      return answer()
    },
    tickMs: () => at.ms,
    onMoved: () => (moved += 1),
  })
  const lookup = (options: object = { all: true }) =>
    new Promise((resolve) =>
      name.lookup('api.test', options, (error, address) => resolve(error === null ? address : error.code)),
    )
  return { name, at, lookup, counts: () => ({ asked, moved }) }
}

const V4 = (address: string): Address => ({ address, family: 4 })
const V6 = (address: string): Address => ({ address, family: 6 })
const failed = (code: string) => Promise.reject(Object.assign(new Error(code), { code }))

t.test(
  'NameAddresses resolves a name at most once every five seconds, and one lookup at a time',
  async (t) => {
    const { lookup, at, counts } = aName(async () => [V4('10.0.0.1')])
    await Promise.all([lookup(), lookup(), lookup()])
    t.same(await lookup(), [V4('10.0.0.1')])
    t.equal(counts().asked, 1)
    at.ms = 5_000
    await lookup()
    t.equal(counts().asked, 2)
  },
)

t.test('NameAddresses keeps the last addresses when the name service fails', async (t) => {
  let works = true
  const { lookup, at, counts } = aName(() =>
    works ? Promise.resolve([V4('10.0.0.1')]) : failed('EAI_AGAIN'),
  )
  await lookup()
  works = false
  for (at.ms = 5_000; at.ms < 600_000; at.ms += 60_000) t.same(await lookup(), [V4('10.0.0.1')])
  t.equal(counts().moved, 0)
})

t.test('NameAddresses does not wait for a hanging name service when it has an address', async (t) => {
  let hangs = false
  const { lookup, at, counts } = aName(() =>
    hangs ? new Promise(() => undefined) : Promise.resolve([V4('10.0.0.1')]),
  )
  await lookup()
  hangs = true
  at.ms = 10_000
  t.same(await Promise.all([lookup(), lookup()]), [[V4('10.0.0.1')], [V4('10.0.0.1')]])
  t.equal(counts().asked, 2, 'one thread of the system hangs, not two')
})

t.test('NameAddresses reports the reason for a missing address', async (t) => {
  t.equal(await aName(() => failed('ENOTFOUND')).lookup(), 'ENOTFOUND')
  t.equal(await aName(async () => []).lookup(), 'ENOTFOUND')
  t.equal(await aName(async () => [V4('10.0.0.1')]).lookup({ family: 6 }), 'ENOTFOUND')
})

t.test('NameAddresses returns addresses in rotation, of the requested family', async (t) => {
  const { lookup } = aName(async () => [V4('10.0.0.1'), V4('10.0.0.2'), V6('::1')])
  const firsts = new Set()
  for (let i = 0; i < 3; i++) firsts.add(await lookup({}))
  t.same(firsts, new Set(['10.0.0.1', '10.0.0.2', '::1']))
  t.equal(await lookup({ family: 6 }), '::1')
  t.same(await lookup({ family: 'IPv6', all: true }), [V6('::1')])
})

t.test(
  'NameAddresses reports that a name moved to other addresses, but not additional addresses',
  async (t) => {
    let addresses = [V4('10.0.0.1')]
    const { name, counts } = aName(async () => addresses)
    await name.refresh()
    addresses = [V4('10.0.0.1'), V4('10.0.0.2')]
    await name.refresh()
    addresses = [V4('10.0.0.2')]
    await name.refresh()
    t.equal(counts().moved, 0)
    addresses = [V4('10.0.0.3')]
    await name.refresh()
    t.equal(counts().moved, 1)
  },
)
