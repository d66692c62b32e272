import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import {
  killDuringRound,
  refreshInParallel,
  shareTokenFile,
  startRefreshCluster,
} from '../../bench/soak/soak-refresh.ts'
import { recordCredential } from '../fixtures/capture.ts'

// `npm run soak:refresh` runs this test in two processes with one store, and repeats more rounds.
for (const store of ['sqlite', 'redis', 'postgres'] as const)
  t.test(`on ${store}, two servers give equal responses to parallel uses of a token`, async (t: Test) => {
    const cleanup = createCleanup()
    const folder = t.testdir()
    t.teardown(() => cleanup.run())
    const secret = (value: string | undefined): void => {
      if (value !== undefined) recordCredential(value)
    }
    const cluster = await startRefreshCluster({ folder, cleanup, store, secret })

    const parallel = await refreshInParallel(cluster, { rounds: 1, parallel: 60 })
    t.match(parallel, { responses: 60, rejected: 0, different: 0, ended: 0 })

    for (const apartMs of [0, 30, 150, 1_000]) {
      const file = join(folder, `tokens-${apartMs}`)
      t.equal(await shareTokenFile(cluster, { file, rounds: 1, apartMs }), 0, `${apartMs} ms apart`)
    }

    const killed = await refreshInParallel(cluster, {
      rounds: 1,
      parallel: 40,
      duringRound: () => killDuringRound(cluster, 20),
    })
    t.match(killed, { different: 0, ended: 0 }, 'a server is killed')
  })
