import type { Logger } from '../../platform/logging/logger.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { AppliedEverywhere } from '../snapshot/reload/policy-reloader.ts'
import type { WorkerProcess } from './fork-worker.ts'

export type PolicyWorker = Pick<WorkerProcess, 'pid' | 'apply' | 'probe' | 'kill'>
type Reply = Awaited<ReturnType<PolicyWorker['apply']>>
type Outcome = AppliedEverywhere['outcome']

/** Period of the probes of workers that have not replied. Milliseconds. */
const PROBE_MS = 1_000
/** Number of probes between two log lines. */
const LOG_EVERY_PROBES = 10
/** Number of unanswered probes after which the supervisor kills a worker. A busy worker replies between its slices. */
const MAX_UNANSWERED_PROBES = 60

/**
 * Activates policies in every worker, including workers that become ready during the call. If one worker finds the
 * policies invalid, the policies count as invalid, and all workers get `active` again. Waits until each worker has
 * replied or exited, and kills a worker that does not respond. Never rejects.
 * @param options.ready returns the workers that can get policies.
 * @param options.startWithOne the other workers get the policies only after one worker has checked them. Default: false.
 */
export async function applyToWorkers(
  sources: PolicySources,
  options: {
    readonly ready: () => readonly PolicyWorker[]
    readonly active: PolicySources
    readonly logger: Logger
    readonly startWithOne?: boolean
    readonly probeMs?: number
  },
): Promise<AppliedEverywhere> {
  const { ready, active, logger, startWithOne = false, probeMs = PROBE_MS } = options
  const replies = new Map<PolicyWorker, Reply>()
  const waiting = new Set<PolicyWorker>()
  let probes = 0

  async function apply(worker: PolicyWorker, given: PolicySources): Promise<void> {
    // Keeps the order of the workers in the report.
    replies.set(worker, 'exited')
    waiting.add(worker)
    replies.set(worker, await worker.apply(given))
    waiting.delete(worker)
  }

  function probe(): void {
    probes += 1
    if (probes % LOG_EVERY_PROBES === 0)
      logger.warn(
        { event: 'policy_reload_waits', pids: [...waiting].map(({ pid }) => pid) },
        'a reload waits for workers that have not checked the policies yet',
      )
    for (const worker of waiting)
      if (worker.probe() === MAX_UNANSWERED_PROBES) {
        logger.error(
          { event: 'worker_unresponsive', pid: worker.pid },
          'a worker does not respond during a reload: the supervisor kills and replaces the worker',
        )
        worker.kill()
      }
  }

  const timer = setInterval(probe, probeMs)
  try {
    for (;;) {
      const others = ready().filter((worker) => !replies.has(worker))
      const asked = startWithOne && replies.size === 0 ? others.slice(0, 1) : others
      await Promise.all(asked.map((worker) => apply(worker, sources)))
      // Policies that end all workers would also end the workers that start next.
      if (asked.every((worker) => typeof replies.get(worker) === 'string')) break
    }
    const outcome = chooseOutcome([...replies.values()])
    if (outcome.result === 'broken') {
      const others = [...replies].filter(([, reply]) => hasOtherPolicies(reply, active))
      await Promise.all(others.map(([worker]) => apply(worker, active)))
    }
    const workers = [...replies].map(([{ pid }, reply]) => ({
      pid,
      ...(typeof reply === 'string'
        ? { result: 'failed' as const, hash: undefined }
        : { result: reply.result, hash: reply.hash }),
    }))
    return { outcome, workers }
  } finally {
    clearInterval(timer)
  }
}

/** A new worker of a rolling restart may have had the new policies before the reload. */
function hasOtherPolicies(reply: Reply, active: PolicySources): boolean {
  return typeof reply !== 'string' && reply.result !== 'broken' && reply.hash !== active.hash
}

function chooseOutcome(replies: readonly Reply[]): Outcome {
  const outcomes = replies.filter((reply) => typeof reply !== 'string')
  const outcome =
    outcomes.find(({ result }) => result === 'broken') ??
    outcomes.find(({ result }) => result === 'applied') ??
    outcomes[0]
  if (outcome !== undefined) return outcome
  if (replies.length === 0) return { result: 'not_checked', failure: 'no_worker_ready' }
  return { result: 'not_checked', failure: replies.includes('defect') ? 'internal_error' : 'workers_exited' }
}
