import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measureLateContent } from '../../bench/soak/measure-late-content.ts'
import { startLateContentUpstream } from '../../bench/soak/start-late-content-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'

// `npm run soak:late-content` runs this test with more responses.
t.test('late content after 204, 304, HEAD and interim responses reaches no other response', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const gateway = await startSoakGateway({
    folder: t.testdir(),
    cleanup,
    upstream: await startLateContentUpstream(cleanup),
    upstreamSettings: { ejection: { failures: 1_000 } }, // ejection counts the interim responses as failures
  })
  const rows = await measureLateContent({ url: gateway.url, calls: 450, concurrency: 8 })
  t.match(rows[0], { what: 'responses', measured: '900' })
  for (const { what, measured, limit, passed } of rows)
    if (passed !== undefined) t.ok(passed, `${what}: ${measured}, expected ${limit}`)
  await cleanup.run()
})
