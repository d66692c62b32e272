import type { Logger } from '../../platform/logging/logger.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { ReloadMeter } from '../observability/reload-metrics.ts'
import { createPolicyReloader, type PolicyReloader } from '../snapshot/reload/policy-reloader.ts'
import { readPolicySources } from '../snapshot/reload/read-policy-sources.ts'
import { startReloading } from '../snapshot/reload/start-reloading.ts'
import { applyToWorkers } from './apply-to-workers.ts'
import type { WorkerProcess } from './fork-worker.ts'
import type { WorkerPolicies } from './worker-messages.ts'

/** The policies of all workers: read here once, checked and brought into force by each. */
export type PoliciesOfWorkers = Pick<PolicyReloader, 'reload' | 'check' | 'inForce'> & {
  /** A worker has begun to serve: meanwhile others may have got other policies. */
  joined(worker: WorkerProcess): void
  /** All workers have read configuration and policies anew. */
  rolled(): Promise<void>
  /** As `GET /policies` shows them. */
  describe(): Promise<string | undefined>
  close(): void
}

/** Begins with what the first worker has said. */
export function openPoliciesOfWorkers(options: {
  readonly sources: PolicySources
  readonly first: WorkerPolicies
  readonly serving: () => readonly WorkerProcess[]
  readonly meter: ReloadMeter
  readonly logger: Logger
}): PoliciesOfWorkers {
  const { serving, logger } = options
  let { places } = options.first
  const reloader = createPolicyReloader({
    ...options,
    inForce: { sources: options.sources, routes: options.first.routes },
    read: () => readPolicySources(places),
    apply: (sources) => applyToWorkers(serving(), sources),
  })
  let stop = start()

  function start(): () => void {
    const reload = async (asker: 'watch'): Promise<void> => {
      await reloader.reload(asker)
      // One that gave no answer in time may have been too busy.
      serving().forEach(joined)
    }
    return startReloading(reload, { ...places, logger })
  }

  /** Nothing waits for it: whoever has the policies already says so. */
  function joined(worker: WorkerProcess): void {
    const { inForce } = reloader
    if (worker.policies !== undefined && worker.policies.hash !== inForce.hash) void worker.apply(inForce)
  }

  return {
    reload: reloader.reload,
    check: reloader.check,
    get inForce() {
      return reloader.inForce
    },
    joined,
    async rolled() {
      const [worker] = serving()
      if (worker?.policies === undefined) return
      stop()
      places = worker.policies.places
      stop = start()
      await reloader.reload('roll')
    },
    async describe() {
      const [worker] = serving()
      return worker?.describe()
    },
    close: () => stop(),
  }
}
