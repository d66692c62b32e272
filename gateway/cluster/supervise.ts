import { Counter, Gauge, Registry } from 'prom-client'
import { openAuditLog } from '../../platform/logging/audit-log.ts'
import { createLogLevelControl } from '../../platform/logging/log-level.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { logLevelEndpoints } from '../../platform/ops/log-level-endpoints.ts'
import { type MetricsJson, metricsOf } from '../../platform/ops/metrics-format.ts'
import { startOpsServer } from '../../platform/ops/ops-server.ts'
import { explainListenError } from '../../platform/process/listen-error.ts'
import { readPackageVersion } from '../../platform/process/package-version.ts'
import { collectProcessMetrics } from '../../platform/process/process-metrics.ts'
import { policyEndpoints } from '../admin/policy-endpoints.ts'
import type { Gateway } from '../app.ts'
import { createDecisionSource } from '../console/decision-source.ts'
import { openConsole } from '../console/open-console.ts'
import { createSampler } from '../console/sample.ts'
import type { GatewayOptions } from '../gateway-options.ts'
import type { GatewayCheck } from '../observability/readiness-check.ts'
import { createReloadMeter } from '../observability/reload-metrics.ts'
import { readPolicySources } from '../snapshot/reload/read-policy-sources.ts'
import { openSourceVersions } from '../snapshot/reload/source-versions.ts'
import { generatePrivateKey } from '../upstream-identity/assertion-key.ts'
import { mergeChecks, mergeMetrics, selectAmounts } from './aggregate-workers.ts'
import { type ClusterPolicies, openClusterPolicies } from './cluster-policies.ts'
import { createExitedCounts } from './exited-counts.ts'
import { firstReply } from './first-reply.ts'
import { forkWorker, type WorkerEnd, type WorkerProcess } from './fork-worker.ts'
import { WorkerPool } from './worker-pool.ts'

export type SupervisedGateway = Gateway & {
  /** Replaces all workers, one after another. New workers read configuration and policies from the disk. */
  roll(): Promise<void>
}

/**
 * Runs several workers that share the public port. This process accepts connections and hands each connection to the
 * next worker, so an exiting worker loses no connection. This process also serves the management port for all workers.
 * @returns the gateway. If the first worker fails to start, returns the exit of this worker, which has logged the
 * reason.
 * @throws {BootError} when the management address is not available.
 */
export async function supervise(options: GatewayOptions): Promise<SupervisedGateway | WorkerEnd> {
  const { config, logger } = options
  const port = await choosePort(config.listen)
  // Upstreams can fetch the public keys from any worker, so all workers share one signing key.
  const assertionKey = config.assertion.keyFile === undefined ? generatePrivateKey() : undefined
  const auditLog = await openAuditLog({ log: config.log, service: 'gateway', logger })
  const { audit } = auditLog
  const logLevel = createLogLevelControl({
    configured: config.log.level,
    logger,
    audit,
    async toWorkers(level) {
      const ready = [...pool.running].filter(({ policies }) => policies !== undefined)
      await Promise.all(ready.map((worker) => worker.setLogLevel(level)))
    },
  })
  const own = createOwnMetrics(logger, () => pool.serving.length)
  auditLog.register(own.registry)
  const versions = openSourceVersions({ dataDir: config.dataDir, logger })
  const sources = await versions.attach(await readPolicySources(config))
  let policies: ClusterPolicies | undefined
  const exited = createExitedCounts()
  let draining = false
  const pool = new WorkerPool({
    workers: config.workers,
    fork(onReplace, reason) {
      // A restarted worker gets the active policies of the other workers, even if the files on the disk have changed.
      const shared = reason === 'roll' ? undefined : versions.renew(policies?.active ?? sources)
      const worker = forkWorker(
        port,
        { assertionKey, policies: shared, validVersions: reason === 'roll' ? versions.all : [] },
        onReplace,
      )
      worker.ready.then(() => {
        if (reason !== 'roll') policies?.workerStarted(worker)
        const { level, configuredLevel } = logLevel.active
        if (level !== configuredLevel) void worker.setLogLevel(level)
        if (decisions.isWatched) worker.send({ kind: 'watch_decisions', isWatched: true })
      })
      return worker
    },
    logger,
    graceMs: config.drain.graceMs,
    onStarted: (reason) => own.started.inc({ reason }),
    onExit: exited.add,
  })

  const decisions = createDecisionSource({
    async ask(query, whom) {
      const askWorker = (worker: WorkerProcess) => worker.askConsole(query)
      if (whom === 'any') return [await firstReply(pool.serving, askWorker)]
      const ready = [...pool.running].filter((worker) => worker.policies !== undefined)
      return Promise.all(ready.map(askWorker))
    },
    watch(isWatched) {
      for (const worker of pool.running) worker.send({ kind: 'watch_decisions', isWatched })
    },
  })

  async function metrics(): Promise<MetricsJson> {
    await Promise.all([...pool.running].map((worker) => worker.requestMetrics()))
    await exited.retire({
      running: [...pool.running].map(({ lastMetrics }) => lastMetrics),
      hash: policies?.active.hash,
      describe: () => policies?.describe(),
    })
    const ownMetrics = await metricsOf(own.registry)
    // The next lines are synchronous. Each worker is therefore either in `pool.running` or in `exited`.
    const running = [...pool.running].map((worker) =>
      pool.draining.has(worker) ? selectAmounts(worker.lastMetrics) : worker.lastMetrics,
    )
    return mergeMetrics([...running, exited.metrics, ownMetrics])
  }

  async function checks(): Promise<readonly GatewayCheck[]> {
    const replies = await Promise.all(pool.serving.map((worker) => worker.requestChecks()))
    const states = replies.flatMap((checks) => (checks === undefined ? [] : [checks]))
    const ready = states.filter((checks) => checks.every(({ ok }) => ok)).length
    return [
      {
        kind: 'workers',
        name: 'workers',
        ok: ready > 0,
        degraded: ready < config.workers,
        detail: `${ready} of ${config.workers} ready`,
      },
      { kind: 'accepting', name: 'accepting', ok: !draining },
      // The supervisor accepts connections, so a stopping worker does not affect the check `accepting`.
      ...mergeChecks(states.map((checks) => checks.filter(({ kind }) => kind !== 'accepting'))),
    ]
  }

  const url = await pool.start()
  if (typeof url !== 'string') return url
  const first = [...pool.running].find((worker) => worker.policies !== undefined)?.policies
  if (first === undefined) throw new Error('a worker is ready but has not reported its policies')
  const opened = openClusterPolicies({
    sources,
    versions,
    first,
    serving: () => pool.serving,
    ready: () =>
      [...pool.running].filter((worker) => worker.policies !== undefined && !pool.draining.has(worker)),
    meter: createReloadMeter(own.registry),
    logger,
    audit,
  })
  policies = opened
  const version = readPackageVersion()
  const allChecks = async () => [...opened.checks(), ...(await checks())]
  const takeOwnSample = createSampler(own.registry)
  const console = openConsole({
    config,
    version,
    logger,
    async sample() {
      const replies = [...pool.running].map(async (worker) => {
        const sample = await worker.requestSample()
        if (sample === undefined) return []
        return [pool.draining.has(worker) ? { ...sample, gauges: selectAmounts(sample.gauges) } : sample]
      })
      return [...(await Promise.all(replies)).flat(), await takeOwnSample()]
    },
    checks: allChecks,
    describe: opened.describe,
    policies: opened,
    decisions,
  })
  try {
    const ops = await startOpsServer({
      ...config.management,
      service: 'gateway',
      version,
      metrics,
      checks: allChecks,
      endpoints: [...policyEndpoints(opened), ...logLevelEndpoints(logLevel), ...(console?.endpoints ?? [])],
      notFound: console?.notFound,
      logger,
    })
    logger.info(
      { event: 'listening', url, management_url: ops.url, workers: config.workers },
      'the gateway listens',
    )
    return {
      url,
      managementUrl: ops.url,
      reload: opened.reload,
      async roll() {
        await pool.roll()
        await opened.workersReplaced()
      },
      async close({ how } = { how: 'graceful' }) {
        draining = true
        opened.close()
        logLevel.close()
        console?.close()
        await pool.stop(how)
        await ops.close()
        await auditLog.close()
      },
    }
  } catch (error) {
    opened.close()
    console?.close()
    await pool.stop('immediate')
    await auditLog.close()
    throw error
  }
}

/** Chooses a free port once for port 0. Otherwise the port could change after a restart of all workers. */
async function choosePort({ host, port }: GatewayOptions['config']['listen']): Promise<number> {
  if (port !== 0) return port
  try {
    return await findFreePort(host)
  } catch (error) {
    throw explainListenError(error, { service: 'gateway', host, port, setting: 'listen.host' })
  }
}

function createOwnMetrics(logger: Logger, serving: () => number) {
  const registry = new Registry()
  const registers = [registry]
  collectProcessMetrics(registry, logger)
  new Gauge({
    name: 'scopegate_workers',
    help: 'Workers that accept requests.',
    registers,
    collect() {
      this.set(serving())
    },
  })
  const started = new Counter({
    name: 'scopegate_worker_starts_total',
    help: 'Started workers.',
    labelNames: ['reason'],
    registers,
  })
  for (const reason of ['start', 'crash', 'roll', 'replace']) started.inc({ reason }, 0)
  return { registry, started }
}
