import fc from 'fast-check'
import t from 'tap'
import type { ScopeCatalogue } from '../../oauth/scope-catalogue.ts'
import { impliedBy, readImplication } from '../../oauth/scope-implication.ts'

function catalogueOf(implies: Readonly<Record<string, readonly string[]>>): ScopeCatalogue {
  return new Map(
    Object.entries(implies).map(([name, implied]) => [
      name,
      { name, description: name, group: 'g', sensitivity: 'read' as const, implies: implied },
    ]),
  )
}

t.test('readImplication() follows chains of any length and inverts them', async (t) => {
  const implication = readImplication(catalogueOf({ a: ['b'], b: ['c'], c: [], d: [] }))
  t.strictSame(
    [...implication],
    [
      ['b', ['b', 'a']],
      ['c', ['c', 'a', 'b']],
    ],
  )
})

t.test('impliedBy() terminates on a cycle and never lists the scope itself', async (t) => {
  const catalogue = catalogueOf({ a: ['b'], b: ['a', 'b'] })
  t.strictSame([...impliedBy('a', catalogue)], ['b'])
  t.strictSame([...impliedBy('unknown', catalogue)], [])
})

t.test('a scope is granted by exactly the scopes that imply it, in any file order', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  // Each scope implies later scopes only, which excludes cycles.
  const implies = fc.tuple(...names.map((_, at) => fc.subarray(names.slice(at + 1))))
  fc.assert(
    fc.property(implies, fc.shuffledSubarray(names, { minLength: 6 }), (lists, order) => {
      const catalogue = catalogueOf(
        Object.fromEntries(order.map((name) => [name, lists[names.indexOf(name)] ?? []])),
      )
      const implication = readImplication(catalogue)
      for (const needed of names)
        for (const held of names) {
          const reaches = held === needed || impliedBy(held, catalogue).has(needed)
          if ((implication.get(needed) ?? [needed]).includes(held) !== reaches) return false
        }
      return true
    }),
  )
})
