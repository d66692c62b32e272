import t from 'tap'
import { type AssertionKey, generateAssertionKey } from '../../../gateway/upstream-identity/assertion-key.ts'
import { createAssertionKeyRing } from '../../../gateway/upstream-identity/assertion-key-ring.ts'

const LEAD = 600_000
const LIFE = 120_000

function ringOf(...keys: readonly AssertionKey[]) {
  return createAssertionKeyRing({ keys, leadMs: LEAD, assertionLifeMs: LIFE })
}

function kids(keys: readonly AssertionKey[]): readonly string[] {
  return keys.map(({ kid }) => kid).toSorted()
}

t.test(
  'a new key is published immediately, and signs only when every verifier can have fetched it',
  async (t) => {
    const [old, fresh] = [generateAssertionKey(), generateAssertionKey()]
    const ring = ringOf(old)
    ring.replace([fresh], 1_000)
    t.same(kids(ring.publishedKeys(1_000)), kids([old, fresh]))
    t.equal(ring.signingKey(1_000 + LEAD - 1), old)
    t.equal(ring.signingKey(1_000 + LEAD), fresh)
  },
)

t.test('an old key stays until the last assertion that it signed has expired', async (t) => {
  const [old, fresh] = [generateAssertionKey(), generateAssertionKey()]
  const ring = ringOf(old)
  ring.replace([fresh], 0)
  t.same(kids(ring.publishedKeys(LEAD + LIFE - 1)), kids([old, fresh]))
  t.same(ring.publishedKeys(LEAD + LIFE), [fresh])
})

t.test('a key that was published long enough signs immediately when it becomes the first key', async (t) => {
  const [first, second] = [generateAssertionKey(), generateAssertionKey()]
  const ring = ringOf(first, second)
  t.equal(ring.signingKey(0), first)
  ring.replace([second, first], 5_000)
  t.equal(ring.signingKey(5_000), second)
  t.same(kids(ring.publishedKeys(5_000 + LEAD + LIFE)), kids([first, second]))
})

t.test('after a second change during a key rollover, only published keys sign', async (t) => {
  const [a, b, c] = [generateAssertionKey(), generateAssertionKey(), generateAssertionKey()]
  const ring = ringOf(a)
  ring.replace([b], 0)
  ring.replace([c], 10_000)
  t.equal(ring.signingKey(LEAD), a, 'b was withdrawn')
  t.ok(kids(ring.publishedKeys(LEAD)).includes(a.kid))
  t.equal(ring.signingKey(10_000 + LEAD), c)
  t.same(ring.publishedKeys(10_000 + LEAD + LIFE), [c])
})

t.test('a reverted change keeps the signing key', async (t) => {
  const [old, fresh] = [generateAssertionKey(), generateAssertionKey()]
  const ring = ringOf(old)
  ring.replace([fresh], 0)
  ring.replace([old], 1_000)
  t.equal(ring.signingKey(LEAD * 2), old)
  t.same(ring.publishedKeys(LEAD * 2), [old])
})

t.test('publishedKeys() returns the same array as long as nothing changes', async (t) => {
  const ring = ringOf(generateAssertionKey())
  t.equal(ring.publishedKeys(0), ring.publishedKeys(1))
  ring.replace([generateAssertionKey()], 2)
  t.equal(ring.publishedKeys(3), ring.publishedKeys(4))
  t.equal(ring.publishedKeys(3).length, 2)
})
