import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  formatScope,
  impliedBy,
  parseScope,
  readImplication,
  type ScopeCatalogue,
} from '../../oauth/scope.ts'

t.test('RFC 6749 §3.3: parseScope() rejects values outside the grammar', async (t) => {
  for (const scope of [' ', 'a  b', ' a', 'a ', 'a\tb', 'a\nb', 'a"b', 'a\\b', 'é', 'a\u0000', 'a\u007f'])
    t.equal(parseScope(scope), undefined, JSON.stringify(scope))
})

t.test('parseScope() keeps the order and removes duplicate tokens', async (t) => {
  t.same(parseScope('b a b'), ['b', 'a'])
  t.same(parseScope(''), [])
})

t.test('parseScope() compares scopes exactly, without prefix match or case folding', async (t) => {
  t.same(parseScope('courses:readwrite Courses:read'), ['courses:readwrite', 'Courses:read'])
})

t.test('parseScope() returns the input of formatScope() for every list of scope tokens', async (t) => {
  const token = fc.stringMatching(/^[\x21\x23-\x5b\x5d-\x7e]{1,12}$/)
  const undo = fc.property(fc.uniqueArray(token, { maxLength: 8 }), (tokens) => {
    deepEqual(parseScope(formatScope(tokens)), tokens)
  })
  t.doesNotThrow(() => fc.assert(undo, { numRuns: 1000 }))
})

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
  // A scope can imply only later scopes, so cycles are impossible.
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
