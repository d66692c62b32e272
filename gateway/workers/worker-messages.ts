import type { MetricObject, MetricValue } from 'prom-client'
import type { ReadinessCheck } from '../../runtime/ops-server.ts'
import type { StopOptions } from '../stop-serving.ts'

/** The series of one process, as prom-client gives them. */
export type MetricsJson = readonly (MetricObject & { readonly values: readonly MetricValue<string>[] })[]

/** What a worker is asked for on behalf of the management port. */
export type WorkerState = { readonly checks: readonly ReadinessCheck[]; readonly metrics: MetricsJson }

/** From the supervisor to a worker. */
export type ToWorker =
  /** The first that it is told: the key that all workers sign assertions with, in PEM; undefined: that of the key file. */
  | { readonly kind: 'begin'; readonly assertionKey: string | undefined }
  | { readonly kind: 'ask'; readonly question: number }
  | { readonly kind: 'stop'; readonly how: StopOptions['how'] }
  /** The answer to `leaving`: every connection that was on its way has arrived, and was given back. */
  | { readonly kind: 'leave' }

/** From a worker to the supervisor. */
export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string }
  /** Something is wrong with it, or somebody asked it to end: it goes on serving until there is another. */
  | { readonly kind: 'replace'; readonly reason: string }
  | { readonly kind: 'state'; readonly question: number; readonly state: WorkerState }
  /** It takes no more connections; some that node:cluster gave it may still be on their way. */
  | { readonly kind: 'leaving' }
  /** The last thing that it says. */
  | { readonly kind: 'farewell'; readonly metrics: MetricsJson }
