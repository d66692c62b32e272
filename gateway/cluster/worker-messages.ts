import type { LogLevel } from '../../platform/logging/log-schema.ts'
import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { SourceState } from '../../policy-engine/load/load-policy-sources.ts'
import type { PolicySources } from '../../policy-engine/load/policy-sources.ts'
import type { Sample } from '../console/sample.ts'
import type { ConsoleQuery, ConsoleReply } from '../console/worker-console.ts'
import type { GatewayCheck } from '../observability/readiness-check.ts'
import type { ShutdownOptions } from '../server/shutdown.ts'
import type { ApplyOutcome } from '../snapshot/reload/policy-holder.ts'
import type { PolicyLocations } from '../snapshot/reload/read-policy-sources.ts'
import type { ValidVersions } from '../snapshot/reload/source-versions.ts'

export type WorkerPolicies = {
  readonly hash: string
  readonly routes: number
  readonly states: readonly SourceState[]
  readonly locations: PolicyLocations & { readonly policyReload: 'watch' | 'manual' }
}

export type WorkerInit = {
  /** PEM of the key with which all workers sign assertions; undefined: the key file contains the key. */
  readonly assertionKey: string | undefined
  /** Active policies of the other workers; undefined: the worker reads the policies of its own configuration. */
  readonly policies: PolicySources | undefined
  /** Last valid versions of the policy sources, for a worker that reads the policies from the disk. */
  readonly validVersions: ValidVersions
}

export type SupervisorMessage =
  | ({ readonly kind: 'begin' } & WorkerInit)
  | { readonly kind: 'apply'; readonly requestId: number; readonly sources: PolicySources }
  | { readonly kind: 'describe'; readonly requestId: number }
  /** Undefined: the configured level of the worker. */
  | { readonly kind: 'set_log_level'; readonly requestId: number; readonly level: LogLevel | undefined }
  | { readonly kind: 'request_checks'; readonly requestId: number }
  | { readonly kind: 'request_metrics'; readonly requestId: number }
  | { readonly kind: 'request_sample'; readonly requestId: number }
  | { readonly kind: 'ask_console'; readonly requestId: number; readonly query: ConsoleQuery }
  /** Whether a page of the console shows decisions. */
  | { readonly kind: 'watch_decisions'; readonly isWatched: boolean }
  | { readonly kind: 'stop'; readonly how: ShutdownOptions['how'] }
  /**
   * Reply to `leaving`: all connections in transit have arrived at the worker, and the worker has returned these
   * connections to the supervisor.
   */
  | { readonly kind: 'leave' }
  /** Reply to `poll_listener`. The worker has received all connections that the supervisor sent before. */
  | { readonly kind: 'listener_polled' }

export type WorkerMessage =
  | { readonly kind: 'ready'; readonly url: string; readonly policies: WorkerPolicies }
  /** Undefined: the worker could not check the policies because of a defect. */
  | { readonly kind: 'applied'; readonly requestId: number; readonly outcome?: ApplyOutcome | undefined }
  /** The worker's policies, in the format of `GET /policies`. */
  | { readonly kind: 'described'; readonly requestId: number; readonly policies: string }
  | { readonly kind: 'log_level_set'; readonly requestId: number }
  /**
   * Requests a successor, because of a defect or a signal. The worker serves requests until a successor replaces the
   * worker.
   */
  | { readonly kind: 'replace'; readonly reason: string }
  | { readonly kind: 'checks'; readonly requestId: number; readonly checks: readonly GatewayCheck[] }
  | { readonly kind: 'metrics'; readonly requestId: number; readonly metrics: MetricsJson }
  | { readonly kind: 'sample'; readonly requestId: number; readonly sample: Sample }
  | { readonly kind: 'console_replied'; readonly requestId: number; readonly reply: ConsoleReply }
  /** Before the worker closes its listener, the supervisor accepts connections from the queue of the system. */
  | { readonly kind: 'poll_listener' }
  /** The worker accepts no more connections. Connections from node:cluster may still be in transit. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'final_metrics'; readonly metrics: MetricsJson }
