import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { SoakGateway } from './start-soak-gateway.ts'

const POLL_INTERVAL_MS = 50
const LIMIT_MS = 60_000

/** With `supervisor`, SIGUSR2 makes the supervisor replace its workers. With `workers`, SIGTERM ends each worker. */
export type RollKind = 'supervisor' | 'workers'

/**
 * Restarts every worker of a gateway. Waits until the old workers have ended and the new workers accept requests.
 * @throws {BenchError} ERR_BENCH_SUBJECT after more than a minute.
 */
export async function rollWorkers(gateway: SoakGateway, kind: RollKind): Promise<void> {
  const { pid } = gateway.process
  const old = childrenOf(pid)
  if (kind === 'supervisor') process.kill(pid, 'SIGUSR2')
  else for (const worker of old) process.kill(worker, 'SIGTERM')
  await whenServing(gateway, { without: old, workers: old.length })
}

/**
 * Waits until this number of workers accept requests, and the excluded workers have ended.
 * @throws {BenchError} ERR_BENCH_SUBJECT after more than a minute.
 */
export async function whenServing(
  gateway: SoakGateway,
  wanted: { readonly without: readonly number[]; readonly workers: number },
): Promise<void> {
  const deadlineMs = performance.now() + LIMIT_MS
  for (;;) {
    const now = childrenOf(gateway.process.pid)
    const areGone = wanted.without.every((worker) => !now.includes(worker))
    if (areGone && (await servingWorkers(gateway)) === wanted.workers) return
    if (performance.now() > deadlineMs)
      throw new BenchError('ERR_BENCH_SUBJECT', 'the supervisor did not replace the workers within a minute')
    await wait(POLL_INTERVAL_MS)
  }
}

/** Works only on Linux. */
export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

/** Reads the readiness endpoint, because the metrics endpoint waits for workers that are starting. */
async function servingWorkers(gateway: SoakGateway): Promise<number> {
  const verbose = await (await fetch(`${gateway.managementUrl}/readyz?verbose`)).text()
  return Number(/workers: (\d+) of/.exec(verbose)?.[1] ?? 0)
}
