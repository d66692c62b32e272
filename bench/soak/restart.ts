// npm run soak:restart: three rolling restarts of all workers under keep-alive load. Bar: no request fails.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCleanup } from '../cleanup.ts'
import { soakRestart } from './soak-restart.ts'

const REQUESTS = 60_000
const WORKERS = 2

const cleanup = createCleanup()
const folder = mkdtempSync(join(tmpdir(), 'scopegate-soak-'))
cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => cleanup.run().finally(() => process.exit(1)))

try {
  const startedMs = performance.now()
  const { counts, rollsMs } = await soakRestart({
    folder,
    cleanup,
    workers: WORKERS,
    requests: REQUESTS,
    rolls: ['supervisor', 'workers', 'supervisor'],
    onRoll: (number, kind, so) =>
      console.log(
        `roll ${number} (${kind === 'supervisor' ? 'SIGUSR2 to the supervisor' : 'SIGTERM to each worker'}): ${so.answered} answered, ${sum(so.failed)} failed so far`,
      ),
  })
  const failed = sum(counts.failed)
  const seconds = (performance.now() - startedMs) / 1_000
  console.log(
    `${WORKERS} workers, ${rollsMs.length} rolling restarts (${rollsMs.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', ')})`,
  )
  console.log(
    `requests ${counts.answered + failed}   answered ${counts.answered}   failed ${failed}   connections ${counts.opened}   in ${seconds.toFixed(1)} s`,
  )
  for (const [what, count] of counts.failed) console.log(`  ${what}: ${count}`)
  console.log(failed === 0 ? 'bar: 0 failed: held' : 'bar: 0 failed: NOT held')
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  await cleanup.run()
}

function sum(failed: ReadonlyMap<string, number>): number {
  return [...failed.values()].reduce((total, count) => total + count, 0)
}
