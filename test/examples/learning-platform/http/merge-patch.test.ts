import t from 'tap'
import { mergePatch } from '../../../../examples/learning-platform/http/merge-patch.ts'

t.test('mergePatch() returns the results of the examples in RFC 7396 appendix A', async (t) => {
  const rows: readonly (readonly [unknown, unknown, unknown])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [target, patch, result] of rows) t.same(mergePatch(target, patch), result)
})

t.test('mergePatch() does not change its arguments or a prototype', async (t) => {
  const target = { a: { b: 1 } }
  mergePatch(target, JSON.parse('{"a":{"b":2},"__proto__":{"polluted":true}}'))
  t.same(target, { a: { b: 1 } })
  t.notOk('polluted' in {})
})
