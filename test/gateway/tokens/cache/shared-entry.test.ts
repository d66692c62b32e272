import t from 'tap'
import { ageOf } from '../../../../gateway/tokens/cache/shared-entry.ts'

t.test(
  'ageOf() believes the clock that makes an answer older, and makes none younger than new',
  async (t) => {
    const answer = { askedAtMs: 100_000, lifetimeMs: 30_000 }
    t.equal(ageOf(answer, { nowMs: 110_000, remainingMs: 20_000 }), 10_000)
    t.equal(ageOf(answer, { nowMs: 125_000, remainingMs: 20_000 }), 25_000, 'that of the wall')
    t.equal(ageOf(answer, { nowMs: 90_000, remainingMs: 1_000 }), 29_000, 'that of Redis: ours is behind')
    t.equal(ageOf(answer, { nowMs: 90_000, remainingMs: 40_000 }), 0)
  },
)
