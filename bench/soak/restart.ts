// npm run soak:restart: three rolling restarts of all workers under keep-alive load. Limit: no request fails.
import { type Measurement, measuredCount } from './measurement.ts'
import { runSoak } from './run-soak.ts'
import { soakRestart } from './soak-restart.ts'

const REQUESTS = 60_000
const WORKERS = 2

await runSoak(async ({ folder, cleanup }) => {
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
  const failures = [...counts.failed].map(
    ([what, count]): Measurement => ({
      what: `failed: ${what}`,
      measured: String(count),
      limit: '0',
      passed: false,
    }),
  )
  return [
    withoutLimit(
      `rolling restarts of ${WORKERS} workers`,
      rollsMs.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(', '),
    ),
    {
      what: 'requests answered',
      measured: String(counts.answered),
      limit: `>= ${REQUESTS}`,
      passed: counts.answered >= REQUESTS,
    },
    measuredCount('requests failed', sum(counts.failed), 0),
    ...failures,
    withoutLimit('connections', String(counts.opened)),
  ]
})

function withoutLimit(what: string, measured: string): Measurement {
  return { what, measured, limit: 'none', passed: undefined }
}

function sum(failed: ReadonlyMap<string, number>): number {
  return [...failed.values()].reduce((total, count) => total + count, 0)
}
