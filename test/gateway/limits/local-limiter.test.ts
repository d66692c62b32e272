import fc from 'fast-check'
import t from 'tap'
import { LocalLimiter } from '../../../gateway/limits/local-limiter.ts'
import {
  compileRateLimit,
  formatRateLimit,
  type RateLimitRule,
} from '../../../policy-engine/format/rate-limit.ts'

const aLimit = (rule: Partial<RateLimitRule> = {}) =>
  compileRateLimit('test/route', { requests: 5, perMs: 60_000, by: 'client', ...rule })

t.test(
  'take() rejects a request above the limit, does not count it, and returns the wait time',
  async (t) => {
    const limiter = new LocalLimiter({ maxEntries: 10 })
    const limit = aLimit()
    const states = Array.from({ length: 8 }, () => limiter.take(limit, 'a', 1_000))
    t.strictSame(
      states.map((one) => [one.allowed, one.remaining]),
      [
        [true, 4],
        [true, 3],
        [true, 2],
        [true, 1],
        [true, 0],
        [false, 0],
        [false, 0],
        [false, 0],
      ],
    )
    t.match(states[7], { retryAfterMs: 12_000, resetMs: 60_000 })
    t.equal(limiter.take(limit, 'a', 1_000 + 11_000).allowed, false, 'one second too early')
    t.equal(limiter.take(limit, 'a', 1_000 + 12_000).allowed, true, 'after the returned wait time')
    t.equal(limiter.take(limit, 'a', 1_000 + 12_000).allowed, false)
    t.equal(limiter.take(limit, 'b', 1_000).remaining, 4, 'other callers have separate limits')
  },
)

t.test('take() restores the full limit, and no more, after the whole window', async (t) => {
  const limiter = new LocalLimiter({ maxEntries: 10 })
  const limit = aLimit()
  for (let i = 0; i < 5; i++) limiter.take(limit, 'a', 0)
  t.equal(limiter.take(limit, 'a', 60_000).remaining, 4)
  t.equal(limiter.take(limit, 'a', 10_000_000).remaining, 4)
})

t.test(
  'take() allows at most the limit in a burst, and afterwards at most the rate of the limit',
  async () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1, max: 3_600 }).map((seconds) => seconds * 1_000),
        fc.array(fc.double({ min: 0, max: 10_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0, max: 1e12, noNaN: true }),
        (requests, perMs, gaps, startMs) => {
          const limiter = new LocalLimiter({ maxEntries: 1 })
          const limit = aLimit({ requests, perMs })
          let nowMs = startMs
          let allowed = 0
          for (const gap of gaps) {
            nowMs += gap
            const state = limiter.take(limit, 'a', nowMs)
            if (state.allowed) allowed += 1
            else if (state.retryAfterMs <= 0 || state.retryAfterMs > perMs * 1.02) return false
            if (state.remaining < 0 || state.remaining >= requests) return false
            if (state.resetMs < 0 || state.resetMs > perMs * 1.02) return false
          }
          return allowed <= requests + ((nowMs - startMs) / perMs) * requests + 1
        },
      ),
      { numRuns: 2_000 },
    )
  },
)

t.test('take() allows exactly the limit in a burst, for every fraction', async (t) => {
  for (const requests of [1, 3, 7, 60, 600, 999, 100_000])
    for (const perMs of [1_000, 60_000, 86_400_000]) {
      const limiter = new LocalLimiter({ maxEntries: 1 })
      const limit = aLimit({ requests, perMs })
      let allowed = 0
      while (limiter.take(limit, 'a', 123_456.789).allowed) allowed += 1
      t.equal(allowed, requests, `${requests} per ${perMs} ms`)
    }
})

t.test('take() never rejects a caller within the rate', async (t) => {
  const limiter = new LocalLimiter({ maxEntries: 1 })
  const limit = aLimit({ requests: 7, perMs: 1_000 })
  for (let i = 0; i < 10_000; i++)
    if (!limiter.take(limit, 'a', (i * 1_000) / 7).allowed) t.fail(`request ${i} was rejected`)
})

t.test('the limiter stays within its memory limit with a million callers', async (t) => {
  const limiter = new LocalLimiter({ maxEntries: 1_000 })
  const limit = aLimit()
  for (let i = 0; i < 1_000_000; i++) limiter.take(limit, `caller-${i}`, i)
  t.equal(limiter.size, 1_000)
})

t.test('merge() applies the count of another limiter until it expires', async (t) => {
  const limiter = new LocalLimiter({ maxEntries: 10 })
  const limit = aLimit()
  limiter.merge('a', 48_000, 0)
  t.equal(limiter.take(limit, 'a', 0).remaining, 0)
  limiter.merge('a', 12_000, 0)
  t.match(limiter.denialOf(limit, 'a', 0), { allowed: false, retryAfterMs: 12_000 })
  t.equal(limiter.denialOf(limit, 'a', 12_000), undefined)
  t.equal(limiter.denialOf(limit, 'unknown', 0), undefined)
})

t.test('the RateLimit header fields have the format of the IETF draft', async (t) => {
  const limit = aLimit({ requests: 600, perMs: 60_000 })
  t.equal(limit.policyField, '"default";q=600;w=60')
  const limiter = new LocalLimiter({ maxEntries: 10 })
  limiter.take(limit, 'a', 0)
  limiter.take(limit, 'a', 0)
  t.equal(formatRateLimit(limit.name, limiter.take(limit, 'a', 0)), '"default";r=597;t=1')
})
