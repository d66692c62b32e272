// npm run soak:late-content [-- --calls N]: an upstream sends content some milliseconds after 204, 304, HEAD and
// interim responses. Limit: no response contains a byte of another response.
import { measureLateContent } from './measure-late-content.ts'
import { readCount } from './read-count.ts'
import { runSoak } from './run-soak.ts'
import { startLateContentUpstream } from './start-late-content-upstream.ts'
import { startSoakGateway } from './start-soak-gateway.ts'

const calls = readCount(process.argv.slice(2), 'calls') ?? 10_000

await runSoak(async ({ folder, cleanup }) => {
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: await startLateContentUpstream(cleanup),
    upstreamSettings: { ejection: { failures: 1_000 } }, // no ejection, because ejection counts interim responses
  })
  return measureLateContent({ url: gateway.url, calls, concurrency: 16 })
})
