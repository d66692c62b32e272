import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Logger } from '../../../platform/logging/logger.ts'
import { collectProcessMetrics, registerBuildInfo } from '../../../platform/process/process-metrics.ts'
import { CANARY_STAGES, type CanaryStage } from './canary-error.ts'

/** Metrics of the canary. Labels contain only stages and results, so the number of series is bounded. */
export type CanaryMetrics = {
  readonly registry: Registry
  /** @param stage the failed stage. Undefined for a successful run. */
  countRun(stage: CanaryStage | undefined): void
  observeRevocation(seconds: number): void
}

export function createCanaryMetrics({
  version,
  logger,
}: {
  readonly version: string
  readonly logger: Logger
}): CanaryMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectProcessMetrics(registry, logger)
  registerBuildInfo(registry, { service: 'canary', version })
  const runs = new Counter({
    name: 'scopegate_canary_runs_total',
    help: 'Runs of the canary by result. The stage is the failed stage, or - after a successful run.',
    labelNames: ['result', 'stage'],
    registers,
  })
  // increase() ignores the first value of a series, so each series must exist before the first failure.
  for (const stage of CANARY_STAGES) runs.inc({ result: 'failed', stage }, 0)
  const lastSuccess = new Gauge({
    name: 'scopegate_canary_last_success_timestamp_seconds',
    help: 'Unix time of the last successful run. 0 before the first successful run.',
    registers,
  })
  const revocations = new Histogram({
    name: 'scopegate_canary_revocation_seconds',
    help: 'Time from the revocation until a gateway rejects the token, for each gateway and run.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  return {
    registry,
    countRun(stage) {
      runs.inc({ result: stage === undefined ? 'ok' : 'failed', stage: stage ?? '-' })
      if (stage === undefined) lastSuccess.set(Date.now() / 1_000)
    },
    observeRevocation: (seconds) => revocations.observe(seconds),
  }
}
