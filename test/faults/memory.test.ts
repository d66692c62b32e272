import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measureBigBodies } from '../../bench/soak/big-bodies.ts'
import { measureIdleConnections } from '../../bench/soak/idle-connections.ts'
import type { Measurement } from '../../bench/soak/measurement.ts'
import { measureSlowHeads } from '../../bench/soak/slow-heads.ts'
import { measureSlowReaders } from '../../bench/soak/slow-readers.ts'
import { startBodyUpstream } from '../../bench/soak/start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'

// `npm run soak:memory` checks all limits with more load, and reports times. This test asserts no times.

async function start(t: Pick<Test, 'testdir' | 'teardown'>): Promise<SoakGateway> {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  return startSoakGateway({
    folder,
    cleanup,
    upstream: await startBodyUpstream(cleanup),
    settings: { limits: { body: '2GiB' } },
    nodeOptions: ['--max-old-space-size=256'],
  })
}

function hold(t: Test, rows: readonly Measurement[]): void {
  for (const row of rows)
    if (row.passed !== undefined && !/ m?s$/.test(row.limit))
      t.ok(row.passed, `${row.what} is ${row.measured}, ${row.limit} wanted`)
}

/** Three tests use this gateway. Each test closes its connections. */
const gateway = await start(t)

t.test('idle connections use little memory', async (t) => {
  hold(t, await measureIdleConnections(gateway, 1_000))
})

t.test('forwards large bodies in both directions without buffering them', async (t) => {
  hold(t, await measureBigBodies(gateway, 256 * 1_024 * 1_024))
})

t.test('closes connections that never complete a request head, and serves other requests', async (t) => {
  hold(t, await measureSlowHeads(gateway, 100))
})

t.test('slow readers do not delay other clients', async (t) => {
  // A separate gateway, because the memory for the large bodies would also count.
  hold(t, await measureSlowReaders(await start(t), { readers: 50, seconds: 3 }))
})
