// npm run soak:refresh: two authorization servers on one SQLite file, then on one Redis, then on one PostgreSQL. 200
// rounds of 200 parallel uses of a refresh token; two clients that share a token file; 20 rounds in which a server is
// killed. Limits: no grant ends, and all responses of a round are equal.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Cleanup } from '../cleanup.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { runSoak } from './run-soak.ts'
import { killDuringRound, refreshInParallel, shareTokenFile, startRefreshCluster } from './soak-refresh.ts'

const ROUNDS = 200
const PARALLEL = 200
const APART_MS = [0, 30, 150, 1_000]
const SHARED_ROUNDS = 20
const KILLS = 20
/** In each round, the kill occurs this much later than in the previous round. Milliseconds. */
const KILL_STEP_MS = 15

async function measureStore(
  store: 'sqlite' | 'redis' | 'postgres',
  soak: { readonly folder: string; readonly cleanup: Cleanup },
): Promise<readonly Measurement[]> {
  const folder = join(soak.folder, store)
  mkdirSync(folder)
  const cluster = await startRefreshCluster({ ...soak, folder, store })
  const rows: Measurement[] = []
  const count = (what: string, measured: number, wanted = 0): void =>
    void rows.push(measuredCount(`${store}: ${what}`, measured, wanted))

  const parallel = await refreshInParallel(cluster, { rounds: ROUNDS, parallel: PARALLEL })
  count(`responses in ${ROUNDS} rounds of ${PARALLEL}`, parallel.responses, ROUNDS * PARALLEL)
  count('responses that are not 200', parallel.rejected)
  rows.push({
    what: `${store}: requests that clients repeated after a 503 of a busy store`,
    measured: String(parallel.repeated),
    limit: 'none',
    passed: undefined,
  })
  count('rounds with different responses', parallel.different)
  count('grants ended', parallel.ended)
  for (const [name, part] of [['p50', 0.5] as const, ['p99', 0.99] as const])
    rows.push({
      what: `${store}: ${name} of a response among ${PARALLEL}`,
      measured: `${readPercentile(parallel.timesMs, part).toFixed(0)} ms`,
      limit: 'none',
      passed: undefined,
    })
  console.log(`${store}: parallel uses measured`)

  for (const apartMs of APART_MS) {
    const file = join(folder, `tokens-${apartMs}`)
    const signedOut = await shareTokenFile(cluster, { file, rounds: SHARED_ROUNDS, apartMs })
    count(`clients signed out, ${SHARED_ROUNDS} rounds ${apartMs} ms apart`, signedOut)
  }
  console.log(`${store}: shared token files measured`)

  let kills = 0
  const killed = await refreshInParallel(cluster, {
    rounds: KILLS,
    parallel: PARALLEL,
    duringRound: () => killDuringRound(cluster, kills++ * KILL_STEP_MS),
  })
  count(`rounds with different responses, of ${KILLS} rounds with a killed server`, killed.different)
  count(`grants that ended in ${KILLS} rounds with a killed server`, killed.ended)
  rows.push({
    what: `${store}: requests lost in ${KILLS} kills`,
    measured: String(killed.rejected),
    limit: 'none',
    passed: undefined,
  })
  return rows
}

await runSoak(async (soak) => [
  ...(await measureStore('sqlite', soak)),
  ...(await measureStore('redis', soak)),
  ...(await measureStore('postgres', soak)),
])
