import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { soakRestart } from '../../bench/soak/soak-restart.ts'

// `npm run soak:restart` runs this test with more requests.
t.test('no request fails while all workers are replaced under keep-alive load', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const { counts } = await soakRestart({
    folder,
    cleanup,
    workers: 2,
    requests: 3_000,
    rolls: ['supervisor', 'workers'],
  })
  t.strictSame(Object.fromEntries(counts.failed), {}, 'no request failed')
  t.ok(counts.answered >= 3_000, `${counts.answered} answered`)
  await cleanup.run()
})
