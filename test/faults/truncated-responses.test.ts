import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { soakTruncated } from '../../bench/soak/soak-truncated.ts'

// `npm run soak:truncated` runs this test with more responses.
t.test('a response that the upstream truncates never looks complete to the client', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const counts = await soakTruncated({ folder: t.testdir(), cleanup, truncated: 600 })
  t.strictSame(Object.fromEntries(counts.takenForWhole), {})
  t.strictSame(Object.fromEntries(counts.others), {}, 'the client receives 502 or a broken connection')
  t.equal(counts.reported.rejected + counts.reported.broken, counts.truncated)
  t.ok(counts.reported.rejected > 0 && counts.reported.broken > 0)
  t.equal(counts.notWhole, 0, 'complete responses arrive complete')
  await cleanup.run()
})
