import t from 'tap'
import { memoize } from '../../../gateway/observability/memoize.ts'

t.test('memoize() calls the function once per key and returns the same value again', async (t) => {
  const keys: string[] = []
  const lookUp = memoize((key: string) => {
    keys.push(key)
    return { key }
  })
  const first = lookUp('a')
  t.strictSame(first, { key: 'a' })
  t.strictSame(lookUp('b'), { key: 'b' })
  t.equal(lookUp('a'), first)
  t.strictSame(keys, ['a', 'b'])
})
