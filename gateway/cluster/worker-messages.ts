import type { MetricObject, MetricValue } from 'prom-client'
import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { ApplyOutcome } from '../snapshot/reload/policy-holder.ts'
import type { PolicyLocations } from '../snapshot/reload/read-policy-sources.ts'

/** The series of one process, as prom-client gives them. */
export type MetricsJson = readonly (MetricObject & { readonly values: readonly MetricValue<string>[] })[]

/** What a worker is asked for on behalf of the management port. */
export type WorkerState = { readonly checks: readonly ReadinessCheck[]; readonly metrics: MetricsJson }

/** What a worker's policies are, and where it would read others. */
export type WorkerPolicies = {
  readonly hash: string
  readonly routes: number
  readonly places: PolicyLocations & { readonly policyReload: 'watch' | 'manual' }
}

/** The first that a worker is told. */
export type WorkerBeginning = {
  /** What all workers sign assertions with, in PEM; undefined: the key of the key file. */
  readonly assertionKey: string | undefined
  /** What all others have in force; undefined: it reads them itself, by the configuration that it reads. */
  readonly policies: PolicySources | undefined
}

/** From the supervisor to a worker. */
export type ToWorker =
  | ({ readonly kind: 'begin' } & WorkerBeginning)
  /** Other policies are to come into force. */
  | { readonly kind: 'apply'; readonly question: number; readonly sources: PolicySources }
  | { readonly kind: 'describe'; readonly question: number }
  | { readonly kind: 'ask'; readonly question: number }
  | { readonly kind: 'stop'; readonly how: ShutdownOptions['how'] }
  /** The answer to `leaving`: every connection that was on its way has arrived, and was given back. */
  | { readonly kind: 'leave' }

/** From a worker to the supervisor. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string; readonly policies: WorkerPolicies }
  | { readonly kind: 'applied'; readonly question: number; readonly outcome: ApplyOutcome }
  /** Its policies as `GET /policies` shows them. */
  | { readonly kind: 'described'; readonly question: number; readonly policies: string }
  /** Something is wrong with it, or somebody asked it to end: it goes on serving until there is another. */
  | { readonly kind: 'replace'; readonly reason: string }
  | { readonly kind: 'state'; readonly question: number; readonly state: WorkerState }
  /** It takes no more connections; some that node:cluster gave it may still be on their way. */
  | { readonly kind: 'leaving' }
  /** The last thing that it says. */
  | { readonly kind: 'farewell'; readonly metrics: MetricsJson }
