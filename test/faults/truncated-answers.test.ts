import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { soakTruncated } from '../../bench/soak/soak-truncated.ts'

// The long form is `npm run soak:truncated`.
t.test('an answer that breaks off at the upstream is never taken for whole', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const counts = await soakTruncated({ folder: t.testdir(), cleanup, truncated: 600 })
  t.strictSame(Object.fromEntries(counts.takenForWhole), {})
  t.strictSame(
    Object.fromEntries(counts.others),
    {},
    'a client is told by 502, or by a connection that breaks',
  )
  t.equal(counts.told.refused + counts.told.broken, counts.truncated)
  t.ok(counts.told.refused > 0 && counts.told.broken > 0)
  t.equal(counts.notWhole, 0, 'whole ones arrive whole')
  await cleanup.run()
})
