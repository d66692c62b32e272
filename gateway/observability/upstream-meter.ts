import { Gauge, type Registry } from 'prom-client'
import type { CircuitState } from '../../platform/circuit-breaker.ts'
import { codeClass, HTTP_BUCKETS } from '../../platform/http-labels.ts'
import { BufferedHistogram } from '../../platform/ops/buffered-histogram.ts'
import type { ProbeResult } from '../upstreams/health-check.ts'
import type { TargetHealth } from '../upstreams/target.ts'
import type { UpstreamFailureReason } from '../upstreams/upstream-failure.ts'
import { BufferedCounter } from './buffered-counter.ts'
import { memoize } from './memoize.ts'

export type UpstreamMeter = {
  responded(status: number, seconds: number): void
  failed(reason: UpstreamFailureReason): void
  retried(): void
  probed(target: string, result: ProbeResult): void
  /** Records a lookup of SRV records. */
  lookedUp(result: 'ok' | 'failed'): void
  /** Removes the series of a target that the upstream no longer has. */
  removed(target: string): void
}

/** State of an upstream at the time of a scrape. */
export type UpstreamLoad = {
  readonly name: string
  readonly state: CircuitState
  readonly openConnections: number
  readonly pendingRequests: number
  readonly health: readonly TargetHealth[]
}

/** The index of a state is the value of `scopegate_circuit_state`. */
const CIRCUIT_STATES: readonly CircuitState[] = ['closed', 'half_open', 'open']

/**
 * Registers the metrics of upstreams. Each scrape calls `states`.
 * @returns a function that creates the meter of an upstream, and a function that removes the series of an upstream.
 */
export function createUpstreamMeters(
  registers: [Registry],
  states: () => readonly UpstreamLoad[],
): { of(upstream: string): UpstreamMeter; remove(upstream: string): void } {
  const durations = new BufferedHistogram<'upstream' | 'code_class'>({
    name: 'scopegate_upstream_request_duration_seconds',
    help: 'Time from forwarding a request to the first byte of the response.',
    buckets: HTTP_BUCKETS,
    registers,
  })
  const errors = new BufferedCounter({
    name: 'scopegate_upstream_errors_total',
    help: 'Requests without a complete response of the upstream, by reason.',
    labelNames: ['upstream', 'reason'],
    registers,
  })
  const retries = new BufferedCounter({
    name: 'scopegate_upstream_retries_total',
    help: 'Retries of requests to an upstream.',
    labelNames: ['upstream'],
    registers,
  })
  const probes = new BufferedCounter({
    name: 'scopegate_upstream_health_checks_total',
    help: 'Health check probes to a target of an upstream, by result.',
    labelNames: ['upstream', 'target', 'result'],
    registers,
  })
  const lookups = new BufferedCounter({
    name: 'scopegate_upstream_srv_lookups_total',
    help: 'Lookups of the SRV records of an upstream, by result.',
    labelNames: ['upstream', 'result'],
    registers,
  })
  new Gauge({
    name: 'scopegate_upstream_target_healthy',
    help: '1 while the health check of the target succeeds, 0 while the target is unhealthy.',
    labelNames: ['upstream', 'target'],
    registers,
    collect() {
      this.reset()
      for (const { name, health } of states())
        for (const { target, isHealthy } of health) this.set({ upstream: name, target }, Number(isHealthy))
    },
  })
  const ofEach = (name: string, help: string, numberOf: (load: UpstreamLoad) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['upstream'],
      registers,
      collect() {
        this.reset() // removes upstreams that policy sources no longer define
        for (const load of states()) this.set({ upstream: load.name }, numberOf(load))
      },
    })
  ofEach(
    'scopegate_upstream_up',
    '1 while the gateway sends requests to the upstream, 0 while all of its targets are ejected.',
    ({ state }) => (state === 'open' ? 0 : 1),
  )
  ofEach(
    'scopegate_circuit_state',
    'Circuit of the healthiest target of the upstream: 0 closed, 1 half-open, 2 open.',
    ({ state }) => CIRCUIT_STATES.indexOf(state),
  )
  ofEach(
    'scopegate_upstream_connections',
    'Open connections to the upstream.',
    ({ openConnections }) => openConnections,
  )
  ofEach(
    'scopegate_upstream_pending_requests',
    'Requests that wait for a connection to the upstream.',
    ({ pendingRequests }) => pendingRequests,
  )

  function of(upstream: string): UpstreamMeter {
    const sentAgain = retries.child({ upstream })
    const durationOf = memoize((code_class: string) => durations.child({ upstream, code_class }))
    const responded = memoize((status: number) => durationOf(codeClass(status)))
    const lookedUp = memoize((result: 'ok' | 'failed') => lookups.child({ upstream, result }))
    const failed = memoize((reason: UpstreamFailureReason) => errors.child({ upstream, reason }))
    return {
      responded: (status, seconds) => responded(status).observe(seconds),
      failed: (reason) => failed(reason).inc(),
      retried: () => sentAgain.inc(),
      probed: (target, result) => probes.child({ upstream, target, result }).inc(),
      lookedUp: (result) => lookedUp(result).inc(),
      removed: (target) =>
        probes.remove((labels) => labels['upstream'] === upstream && labels['target'] === target),
    }
  }

  return {
    of,
    remove(upstream) {
      for (const metric of [durations, errors, retries, probes, lookups])
        metric.remove((labels) => labels['upstream'] === upstream)
    },
  }
}
