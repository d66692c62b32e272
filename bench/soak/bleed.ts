// npm run soak:bleed [-- --requests N]: requests with a nonce, on keep-alive connections that clients close at any
// byte.
// Limit: no client receives a byte of the response to another request.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCleanup } from '../cleanup.ts'
import { readCount } from './read-count.ts'
import { isBleedWithinLimits, soakBleed } from './soak-bleed.ts'

const requests = readCount(process.argv.slice(2), 'requests') ?? 1_000_000
const cleanup = createCleanup()
const folder = mkdtempSync(join(tmpdir(), 'scopegate-soak-'))
cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => cleanup.run().finally(() => process.exit(1)))

try {
  const startedMs = performance.now()
  const soak = await soakBleed({
    folder,
    cleanup,
    requests,
    onCounts: ({ requests: sent, answered, mismatches }) =>
      console.log(`${sent} of ${requests} requests, ${answered} answered, ${mismatches} mismatches`),
  })
  const { counts, upstream, unanswered } = soak
  const seconds = (performance.now() - startedMs) / 1_000
  console.log(
    `requests: ${counts.requests}, answered: ${counts.answered}; abandoned by the client while it was sending: ${counts.left.sending}, waiting: ${counts.left.waiting}, receiving: ${counts.left.receiving}; connections: ${counts.connections}; time: ${seconds.toFixed(1)} s`,
  )
  console.log(
    `requests at the upstream: ${upstream.requests}, mixed: ${upstream.problems.length}, repeated: ${upstream.repeated}; sent after the last response of a connection: ${counts.putOff.length}, and forwarded all the same: ${unanswered}`,
  )
  for (const [what, count] of counts.failed) console.log(`  failed, ${what}: ${count}`)
  for (const example of [...counts.examples, ...upstream.problems.slice(0, 10)]) console.log(`  ${example}`)
  const result = isBleedWithinLimits(soak) ? 'passed' : 'FAILED'
  console.log(`mismatches ${counts.mismatches}\nlimit: 0 mismatches: ${result}`)
  process.exitCode = isBleedWithinLimits(soak) ? 0 : 1
} finally {
  await cleanup.run()
}
