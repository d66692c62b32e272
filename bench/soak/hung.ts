// npm run soak:hung: 500 calls to an upstream that never responds, and requests to a healthy route.
import { measureHungCalls } from './hung-calls.ts'
import { runSoak } from './run-soak.ts'
import { startHangingUpstream } from './start-hanging-upstream.ts'
import { startSoakGateway } from './start-soak-gateway.ts'

const CALLS = 500
const TIMEOUT_SECONDS = 6

await runSoak(async ({ folder, cleanup }) => {
  const upstream = await startHangingUpstream(cleanup)
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: upstream.url,
    upstreamSettings: { timeout: `${TIMEOUT_SECONDS}s` },
  })
  return measureHungCalls({
    gateway,
    upstream,
    calls: CALLS,
    timeoutMs: TIMEOUT_SECONDS * 1_000,
    probedMs: 3_000,
  })
})
