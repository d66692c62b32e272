import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { soakBleed } from '../../bench/soak/soak-bleed.ts'

// `npm run soak:bleed` runs this test with more requests.
t.test(
  'each client receives the complete response to its own request while other clients disconnect',
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const { counts, upstream, unanswered } = await soakBleed({
      folder: t.testdir(),
      cleanup,
      requests: 5_000,
    })
    t.equal(counts.mismatches, 0, 'no response contains bytes of another response')
    t.strictSame(counts.examples, [])
    t.strictSame(Object.fromEntries(counts.failed), {}, 'no request was lost')
    t.strictSame(upstream.problems, [], 'no request was mixed with another one')
    t.equal(upstream.repeated, 0, 'each request is forwarded at most once')
    t.equal(unanswered, 0, 'no request is forwarded after the last response of its connection')
    t.ok(
      counts.left.sending > 100 && counts.left.waiting > 50 && counts.left.receiving > 20,
      'many clients disconnected',
    )
    t.ok(counts.answered > 3_000, `${counts.answered} answered`)
    await cleanup.run()
  },
)
