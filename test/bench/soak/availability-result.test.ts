import t from 'tap'
import type { Use, UseKind } from '../../../bench/soak/availability-load.ts'
import { isCalm, type Phase, summarize } from '../../../bench/soak/availability-result.ts'
import { findExceededLimits, formatRows, replaceRows } from '../../../bench/soak/availability-table.ts'

/** The store fails from 10 s to 20 s. The gateway receives revocations again from 22 s. */
const PHASE: Phase = { fault: 'restart', startedMs: 10_000, endedMs: 20_000, openMs: 22_000 }
const use = (kind: UseKind, status: number, sentMs: number, more: Partial<Use> = {}): Use => ({
  kind,
  status,
  sentMs,
  endMs: sentMs + 10,
  ...more,
})
const summaryOf = (uses: readonly Use[], phase: Partial<Phase> = {}) =>
  summarize(uses, [], { ...PHASE, ...phase })

t.test('counts an accepted token without the scope as a wrong decision', async (t) => {
  t.equal(summaryOf([use('denied', 403, 1), use('denied', 503, 1)]).wrongDecisions, 0)
  t.equal(summaryOf([use('denied', 201, 1)]).wrongDecisions, 1)
})

t.test(
  'counts an accepted revoked token after the bound, which starts when revocations arrive again',
  async (t) => {
    const wrong = (acknowledgedMs: number, sentMs: number, phase: Partial<Phase> = {}) =>
      summaryOf([use('revoked', 201, sentMs, { acknowledgedMs })], phase).wrongDecisions
    t.equal(wrong(1_000, 5_999), 0, 'within the bound')
    t.equal(wrong(1_000, 6_001), 1, 'after the bound')
    t.equal(wrong(1_000, 15_000), 1, 'revoked long before the fault')
    t.equal(wrong(12_000, 26_999), 0, 'revoked during the fault')
    t.equal(wrong(12_000, 27_001), 1, 'revoked during the fault, and the channel was open for the bound')
    t.equal(wrong(12_000, 300_000, { openMs: 400_000 }), 1, 'accepted without a channel for too long')
    t.equal(wrong(12_000, 26_999, { fault: 'none' }), 1, 'without a fault')
    t.equal(summaryOf([use('revoked', 401, 9_000, { acknowledgedMs: 1_000 })]).wrongDecisions, 0)
  },
)

t.test('applies the bound at all times to a gateway that the fault does not affect', async (t) => {
  const wrong = (gateway: number, sentMs: number) =>
    summaryOf([use('revoked', 201, sentMs, { acknowledgedMs: 12_000, gateway })], {
      fault: 'partition',
      affectedGateway: 1,
    }).wrongDecisions
  t.equal(wrong(1, 18_000), 0)
  t.equal(wrong(1, 28_000), 1)
  t.equal(wrong(0, 16_999), 0)
  t.equal(wrong(0, 17_001), 1)
})

t.test('counts failed requests and lost grants', async (t) => {
  const result = summaryOf([
    use('known', 201, 1),
    use('known', 0, 2),
    use('new', 503, 3),
    use('refresh', 400, 4),
    use('refresh', 503, 5),
  ])
  t.match(result, { requests: 5, failedKnown: 1, failedNew: 1, lostGrants: 1 })
  t.strictSame(result.statuses, {
    'known 201': 1,
    'known 0': 1,
    'new 503': 1,
    'refresh 400': 1,
    'refresh 503': 1,
  })
})

t.test('measures the recovery from the end of the fault to the first success of each kind', async (t) => {
  t.equal(summaryOf([use('known', 201, 21_000)]).recoveryMs, 0)
  const failures = [use('refresh', 503, 20_500), use('known', 503, 15_000)]
  t.equal(summaryOf(failures).recoveryMs, undefined, 'no success')
  const uses = [
    ...failures,
    use('known', 201, 16_000),
    use('refresh', 200, 21_000),
    use('refresh', 200, 23_000),
  ]
  t.equal(summaryOf(uses).recoveryMs, 1_010)
  t.equal(isCalm(uses), false)
  t.equal(isCalm([use('known', 201, 1), use('new', 201, 1), use('refresh', 200, 1)]), false, 'no revocation')
  const calm = [use('known', 201, 1), use('new', 201, 1), use('refresh', 200, 1), use('revoke', 200, 1)]
  t.equal(isCalm(calm), true)
})

t.test(
  'measures the time from the new primary to the first successful refresh of a grant with a failed refresh',
  async (t) => {
    const uses = [
      use('refresh', 503, 15_000, { sequence: 1 }),
      use('refresh', 200, 18_000, { sequence: 1 }),
      use('refresh', 503, 15_000, { sequence: 2 }),
      use('refresh', 200, 18_500, { sequence: 2 }),
      use('refresh', 200, 17_500, { sequence: 3 }),
    ]
    t.equal(summaryOf(uses).writesMs, undefined, 'no failover')
    t.equal(summaryOf(uses, { newPrimaryMs: 17_000 }).writesMs, 1_010)
    t.equal(summaryOf(uses.slice(4), { newPrimaryMs: 17_000 }).writesMs, 0, 'no refresh failed')
    t.equal(summaryOf(uses.slice(0, 1), { newPrimaryMs: 17_000 }).writesMs, Infinity, 'no refresh works')
  },
)

t.test('ignores times of revocations during the fault', async (t) => {
  const times = [1_000, 9_950, 15_000, 21_000, 23_000].map((acknowledgedMs) => ({
    acknowledgedMs,
    tookMs: 100,
  }))
  t.strictSame(summarize([], times, PHASE).revocationsMs.length, 2)
  t.strictSame(summarize([], times, { ...PHASE, fault: 'none' }).revocationsMs.length, 5)
})

t.test('one revocation without effect exceeds a limit', async (t) => {
  const exceeded = (tookMs: number) => {
    const result = { ...summarize([], [{ acknowledgedMs: 23_000, tookMs }], PHASE), isDurable: true }
    return findExceededLimits({ store: 'redis', tokens: 'jwt', fault: 'restart', result })
  }
  t.strictSame(exceeded(29_000), [])
  t.strictSame(exceeded(Infinity), ['redis, jwt, restart: a revocation without effect'])
})

t.test('replaces the measured rows of the page, and keeps the other rows', async (t) => {
  const page = 'a\n<!-- measured: npm run soak:availability -->\n<!-- end -->\nb\n'
  const lineOf = (fault: 'restart' | 'kill', requests: number): string => {
    const uses = Array.from({ length: requests }, () => use('known', 201, 1))
    const result = { ...summaryOf(uses), isDurable: true }
    return formatRows([{ store: 'redis', tokens: 'jwt', fault, result }])[0] ?? ''
  }
  const once = replaceRows(page, [lineOf('kill', 1), lineOf('restart', 2)])
  t.ok(once.startsWith('a\n') && once.endsWith('<!-- end -->\nb\n'))
  const rowsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('| Redis'))
  t.strictSame(rowsOf(once), [lineOf('restart', 2), lineOf('kill', 1)])
  const twice = replaceRows(once, [lineOf('kill', 3)])
  t.strictSame(rowsOf(twice), [lineOf('restart', 2), lineOf('kill', 3)])
  t.throws(() => replaceRows('no place', []), { code: 'ERR_BENCH_SUBJECT' })
})
