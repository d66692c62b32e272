import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { ApplyOutcome } from '../snapshot/reload/policy-holder.ts'
import type { AppliedEverywhere } from '../snapshot/reload/policy-reloader.ts'
import type { WorkerReload } from '../snapshot/reload/reload-report.ts'
import type { WorkerProcess } from './fork-worker.ts'

type Asked = { readonly pid: number | undefined; readonly outcome: ApplyOutcome | undefined }

/**
 * Activates policies in every serving worker. If one worker finds them invalid, they are invalid.
 * @throws {Error} when no worker replies, so that the outcome is unknown.
 */
export async function applyToWorkers(
  workers: readonly Pick<WorkerProcess, 'pid' | 'apply'>[],
  sources: PolicySources,
): Promise<AppliedEverywhere> {
  const asked: readonly Asked[] = await Promise.all(
    workers.map(async (worker) => ({ pid: worker.pid, outcome: await worker.apply(sources) })),
  )
  const outcomes = asked.flatMap(({ outcome }) => (outcome === undefined ? [] : [outcome]))
  const outcome =
    outcomes.find(({ result }) => result === 'broken') ??
    outcomes.find(({ result }) => result === 'applied') ??
    outcomes[0]
  if (outcome === undefined) throw new Error('no worker replied to the reload')
  return { outcome, workers: asked.map(toReport) }
}

function toReport({ pid, outcome }: Asked): WorkerReload {
  return { pid, result: outcome?.result ?? 'silent', hash: outcome?.hash }
}
