import { setTimeout as wait } from 'node:timers/promises'
import { createLogger, describeFailure } from '../../../platform/logging/logger.ts'
import { metricsOf } from '../../../platform/ops/metrics-format.ts'
import { optionalCheck, startOpsServer } from '../../../platform/ops/ops-server.ts'
import { onTermination } from '../../../platform/process/drain.ts'
import { readPackageVersion } from '../../../platform/process/package-version.ts'
import { CanaryError } from './canary-error.ts'
import { createCanaryMetrics } from './canary-metrics.ts'
import type { CanarySettings, ServiceSettings } from './canary-settings.ts'
import { findFailure, measureRevocation } from './measure-revocation.ts'

/** More than the timeouts of the token request and of the revocation, which a signal does not abort. */
const GRACE_MS = 15_000

/** Repeats the canary until SIGTERM, and exports its results on a management port. */
export async function startCanaryService(
  settings: CanarySettings,
  { host, port, intervalMs }: ServiceSettings,
): Promise<void> {
  const logger = createLogger({ level: 'info', service: 'canary' })
  const version = readPackageVersion()
  const metrics = createCanaryMetrics({ version, logger })
  const stop = new AbortController()
  let hasRun = false
  let problem: string | undefined
  const ops = await startOpsServer({
    host,
    port,
    portSetting: '--management-port',
    service: 'canary',
    version,
    metrics: () => metricsOf(metrics.registry),
    // A failed run must not remove the canary from its service, because Prometheus reads the failure there.
    checks: () => [{ name: 'first_run', ok: hasRun }, optionalCheck('last_run', problem)],
    logger,
  })
  const stopped = repeat()
  onTermination(
    async () => {
      stop.abort()
      await stopped
      await ops.close()
    },
    { logger, graceMs: GRACE_MS },
  )
  logger.info({ event: 'listening', management_url: ops.url }, 'the canary runs')

  async function repeat(): Promise<void> {
    while (!stop.signal.aborted) {
      const start = performance.now()
      await run()
      hasRun = true
      const pauseMs = Math.max(0, intervalMs - (performance.now() - start))
      // The wait rejects only when the signal aborts.
      await wait(pauseMs, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  }

  async function run(): Promise<void> {
    try {
      const results = await measureRevocation(settings, stop.signal)
      for (const { gateway, seconds } of results) {
        if (seconds === undefined) continue
        metrics.observeRevocation(seconds)
        logger.info({ event: 'canary_revocation', gateway, seconds }, 'the gateway rejects the revoked token')
      }
      const failure = findFailure(results, settings.deadlineMs)
      if (failure !== undefined) throw failure
      metrics.countRun(undefined)
      problem = undefined
    } catch (error) {
      if (stop.signal.aborted) return
      if (!(error instanceof CanaryError)) throw error
      metrics.countRun(error.stage)
      problem = error.message
      logger.error(
        { event: 'canary_failed', stage: error.stage, err: describeFailure(error) },
        'a run of the canary failed',
      )
    }
  }
}
