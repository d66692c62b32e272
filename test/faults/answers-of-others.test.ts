import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { soakBleed } from '../../bench/soak/soak-bleed.ts'

// The long form is `npm run soak:bleed`.
t.test('an answer is its own request’s, wholly, whatever other clients break off', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const { counts, upstream, unanswered } = await soakBleed({ folder: t.testdir(), cleanup, requests: 5_000 })
  t.equal(counts.mismatches, 0, 'no answer, and no part of one, was another request’s')
  t.strictSame(counts.examples, [])
  t.strictSame(Object.fromEntries(counts.failed), {}, 'none was lost')
  t.strictSame(upstream.problems, [], 'no request was mixed with another one')
  t.equal(upstream.repeated, 0, 'none was forwarded twice')
  t.equal(unanswered, 0, 'none was forwarded behind the last answer of its connection')
  t.ok(
    counts.left.sending > 100 && counts.left.waiting > 50 && counts.left.receiving > 20,
    'many clients left',
  )
  t.ok(counts.answered > 3_000, `${counts.answered} answered`)
  await cleanup.run()
})
