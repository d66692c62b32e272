import t from 'tap'
import { ageOf } from '../../../../gateway/tokens/cache/shared-entry.ts'

t.test('ageOf() uses the clock that gives the higher age, and never returns a negative age', async (t) => {
  const answer = { askedAtMs: 100_000, keptMs: 30_000 }
  t.equal(ageOf(answer, { nowMs: 110_000, remainingMs: 20_000 }), 10_000)
  t.equal(ageOf(answer, { nowMs: 125_000, remainingMs: 20_000 }), 25_000, 'by the wall clock')
  t.equal(
    ageOf(answer, { nowMs: 90_000, remainingMs: 1_000 }),
    29_000,
    'by Redis, because the local clock is behind',
  )
  t.equal(ageOf(answer, { nowMs: 90_000, remainingMs: 40_000 }), 0)
})
