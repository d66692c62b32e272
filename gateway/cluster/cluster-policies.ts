import type { AuditLog } from '../../platform/logging/audit-log.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { ReloadMeter } from '../observability/reload-metrics.ts'
import { createPolicyReloader, type PolicyReloader } from '../snapshot/reload/policy-reloader.ts'
import { readPolicySources } from '../snapshot/reload/read-policy-sources.ts'
import type { SourceVersions } from '../snapshot/reload/source-versions.ts'
import { startReloading } from '../snapshot/reload/watch-folders.ts'
import { applyToWorkers } from './apply-to-workers.ts'
import { firstReply } from './first-reply.ts'
import type { WorkerProcess } from './fork-worker.ts'
import type { WorkerPolicies } from './worker-messages.ts'

/**
 * The policies of all workers. The supervisor reads the policies once. Each worker validates and activates the
 * policies.
 */
export type ClusterPolicies = Pick<PolicyReloader, 'reload' | 'checks' | 'active' | 'states' | 'failure'> & {
  /** Updates a worker that has started to serve. The policies may have changed during the start of the worker. */
  workerStarted(worker: WorkerProcess): void
  /** Adopts the policy locations of the restarted workers and reloads the policies. Called after a rolling restart. */
  workersReplaced(): Promise<void>
  /** Returns the active policies, in the format of `GET /policies`; undefined: no worker has replied in time. */
  describe(): Promise<string | undefined>
  close(): void
}

export function openClusterPolicies(options: {
  readonly sources: PolicySources
  readonly versions: SourceVersions
  readonly first: WorkerPolicies
  readonly serving: () => readonly WorkerProcess[]
  /** The workers that have policies and do not drain, even if they do not count as stable. */
  readonly ready: () => readonly WorkerProcess[]
  readonly meter: ReloadMeter
  readonly logger: Logger
  readonly audit: AuditLog
}): ClusterPolicies {
  const { serving, ready, versions, logger } = options
  let { locations } = options.first
  const reloader = createPolicyReloader({
    ...options,
    active: { sources: options.sources, routes: options.first.routes, states: options.first.states },
    read: async () => versions.attach(await readPolicySources(locations)),
    onStates: versions.keep,
    apply: (sources, { startWithOne }) =>
      applyToWorkers(sources, { ready, active: reloader.active, logger, startWithOne }),
  })
  let stop = start()

  function start(): () => void {
    return startReloading(reloader.reload, { ...locations, logger })
  }

  /** Sends the active policies to a worker that has other policies, and does not wait for the reply. */
  function workerStarted(worker: WorkerProcess): void {
    const { active } = reloader
    if (worker.policies !== undefined && worker.policies.hash !== active.hash) void worker.apply(active)
  }

  return {
    reload: reloader.reload,
    checks: reloader.checks,
    get active() {
      return reloader.active
    },
    get states() {
      return reloader.states
    },
    get failure() {
      return reloader.failure
    },
    workerStarted,
    async workersReplaced() {
      const [worker] = serving()
      if (worker?.policies === undefined) return
      stop()
      locations = worker.policies.locations
      stop = start()
      await reloader.reload('roll')
    },
    async describe() {
      return firstReply(serving(), (worker) => worker.describe())
    },
    close() {
      stop()
      reloader.close()
    },
  }
}
