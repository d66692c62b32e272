// npm run soak:truncated [-- --answers N]: responses that the upstream truncates.
// Limit: no client accepts a truncated response as complete.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCleanup } from '../cleanup.ts'
import { readCount } from './read-count.ts'
import { isTruncationWithinLimits, noTruncations, soakTruncated } from './soak-truncated.ts'

const truncated = readCount(process.argv.slice(2), 'answers') ?? 10_000
const cleanup = createCleanup()
const folder = mkdtempSync(join(tmpdir(), 'scopegate-soak-'))
cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => cleanup.run().finally(() => process.exit(1)))

try {
  const counts = noTruncations()
  const progress = setInterval(
    () => console.log(`${counts.truncated} of ${truncated} responses were truncated`),
    10_000,
  )
  await soakTruncated({ folder, cleanup, truncated, counts }).finally(() => clearInterval(progress))
  console.log(
    `truncated responses: ${counts.truncated}, reported by 502: ${counts.reported.rejected}, by a closed connection: ${counts.reported.broken}; complete responses: ${counts.whole}, delivered incompletely: ${counts.notWhole}`,
  )
  for (const [status, count] of counts.others) console.log(`  status ${status}: ${count}`)
  for (const [cut, count] of counts.takenForWhole) console.log(`  accepted as complete, ${cut}: ${count}`)
  const result = isTruncationWithinLimits(counts) ? 'passed' : 'FAILED'
  console.log(`limit: 0 accepted as complete: ${result}`)
  process.exitCode = isTruncationWithinLimits(counts) ? 0 : 1
} finally {
  await cleanup.run()
}
