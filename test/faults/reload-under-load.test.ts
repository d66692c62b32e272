import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import {
  RESPONSES_EACH,
  soakBrokenReloads,
  soakGoodReloads,
  startReloadedGateway,
} from '../../bench/soak/soak-reload.ts'

// `npm run soak:reload` runs this test with more requests.
t.test('reloads of valid and invalid policies under load cause no wrong response', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const gateway = await startReloadedGateway({ folder, cleanup, workers: 1 })
  const options = { folder, reloads: 10, connections: 4, everyMs: 0 }
  for (const [what, soak] of [
    ['each response conforms to the policy version in its header', soakGoodReloads],
    ['invalid policies change nothing, and each error is reported with its location', soakBrokenReloads],
  ] as const)
    await t.test(what, async (t) => {
      const { answered, failed, wrong, unexpected } = await soak(gateway, options)
      t.strictSame(Object.fromEntries(failed), {}, 'no request failed')
      t.strictSame(wrong, [], 'each response matches an active version')
      t.strictSame(unexpected, [], 'each reload had the expected result')
      t.ok(answered >= options.reloads * RESPONSES_EACH, `${answered} answered: some under every version`)
    })
  await cleanup.run()
})
