import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measureHungCalls } from '../../bench/soak/hung-calls.ts'
import { startHangingUpstream } from '../../bench/soak/start-hanging-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'

// `npm run soak:hung` runs this test and also measures times.
t.test(
  '500 calls without a response end with 504, release their connections and block no other request',
  async (t) => {
    const cleanup = createCleanup()
    const folder = t.testdir()
    t.teardown(() => cleanup.run())
    const upstream = await startHangingUpstream(cleanup)
    const gateway = await startSoakGateway({
      folder,
      cleanup,
      upstream: upstream.url,
      upstreamSettings: { timeout: '8s' }, // a busy machine needs seconds to forward all requests
    })
    const rows = await measureHungCalls({ gateway, upstream, calls: 500, timeoutMs: 8_000, probedMs: 1_000 })
    for (const { what, measured, limit, passed } of rows)
      if (passed !== undefined && !limit.endsWith('s')) t.ok(passed, `${what}: ${measured}, ${limit} wanted`)
    t.equal(upstream.taken, 500)
  },
)
