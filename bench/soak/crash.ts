// npm run soak:crash: kills a worker every five seconds for a minute, under keep-alive load. Limits: the number of lost
// requests does not exceed the number of requests in flight at the worker, and the new worker accepts requests within a
// second.
import type { Measurement } from './measurement.ts'
import { runSoak } from './run-soak.ts'
import { soakCrash } from './soak-crash.ts'

const KILLS = 12
const PAUSE_MS = 4_500
const RECOVERY_LIMIT_MS = 1_000

await runSoak(async ({ folder, cleanup }) => {
  const { counts, kills } = await soakCrash({
    folder,
    cleanup,
    workers: 2,
    kills: KILLS,
    pauseMs: PAUSE_MS,
    onKill: ({ connections, failed, backMs }) =>
      console.log(`killed with ${connections} connections: ${failed} lost, back in ${backMs.toFixed(0)} ms`),
  })
  const excess = Math.max(...kills.map(({ failed, connections }) => failed - connections))
  const slowestMs = Math.max(...kills.map(({ backMs }) => backMs))
  const lost = kills.reduce((sum, { failed }) => sum + failed, 0)
  const withoutLimit = (what: string, measured: string): Measurement => ({
    what,
    measured,
    limit: 'none',
    passed: undefined,
  })
  return [
    withoutLimit('requests answered', String(counts.answered)),
    withoutLimit(`requests lost in ${KILLS} kills`, String(lost)),
    {
      what: 'maximum of lost requests minus requests in flight',
      measured: String(Math.max(0, excess)),
      limit: '0',
      passed: excess <= 0,
    },
    {
      what: 'longest time until a new worker served',
      measured: `${slowestMs.toFixed(0)} ms`,
      limit: `<= ${RECOVERY_LIMIT_MS} ms`,
      passed: slowestMs <= RECOVERY_LIMIT_MS,
    },
  ]
})
