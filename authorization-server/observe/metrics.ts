import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { codeClass, HTTP_BUCKETS } from '../../platform/http-labels.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { BufferedHistogram } from '../../platform/ops/buffered-histogram.ts'
import { collectProcessMetrics, registerBuildInfo } from '../../platform/process/process-metrics.ts'
import type { ConsentReason } from '../engine/consent-step.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { STORE_ERROR_REASONS, type StoreErrorReason } from '../store/store.ts'

/** `operator`: a command revoked the grant. */
type GrantEndReason = Extract<EngineEvent, { readonly kind: 'grant_revoked' }>['reason'] | 'operator'

/** Metrics of the authorization server. Labels never contain values from callers. */
export type Metrics = {
  readonly registry: Registry
  /** @param grantType `-` for an endpoint without grant types. */
  countRequest(endpoint: string, grantType: string, result: string): void
  countClientRegistered(): void
  /** @param result `ok`, or the reason of the failure. */
  countClientDocument(result: string): void
  /** @param provider name of an OpenID provider, or `local`. */
  countSignIn(provider: string, result: string): void
  countThrottledSignIn(): void
  countConsent(outcome: 'given' | 'denied'): void
  countSessionEnded(): void
  /** @param consent `page`, `canary`, or the reason for a grant without the consent page. */
  countGrantCreated(consent: 'page' | 'canary' | ConsentReason): void
  countGrantEnded(reason: GrantEndReason): void
  countRefreshReuse(): void
  countRefreshRepeat(): void
  countStoreError(reason: StoreErrorReason): void
  setStoreWritable(isWritable: boolean): void
  /** @param aheadSeconds time by which the clock of this process is ahead of the clock of the store. */
  setClockDifference(aheadSeconds: number): void
  /** @param endpoint name of the endpoint, or path of the route of a page. */
  observeRequest(
    endpoint: string,
    request: {
      readonly status: number
      readonly seconds: number
      /** Trace of the request, if the trace is sampled. */
      readonly traceId: string | undefined
    },
  ): void
  observeStoreOperation(operation: string, result: 'ok' | StoreErrorReason, seconds: number): void
}

const GRANT_TYPES: readonly string[] = ['authorization_code', 'refresh_token', 'client_credentials']

/**
 * Buckets in seconds: an operation of SQLite takes less than a millisecond, a failed operation takes up to some
 * seconds.
 */
const STORE_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
]

export function createMetrics(options: {
  readonly version: string
  readonly listeners: () => number
  readonly logger: Logger
}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectProcessMetrics(registry, options.logger)
  registerBuildInfo(registry, { service: 'authorization-server', version: options.version })
  new Gauge({
    name: 'scopegate_oauth_revocation_listeners',
    help: 'Open revocation streams.',
    registers,
    collect() {
      this.set(options.listeners())
    },
  })
  const requests = new Counter({
    name: 'scopegate_oauth_requests_total',
    help: 'Requests to the OAuth endpoints, by result: ok or the error code.',
    labelNames: ['endpoint', 'grant_type', 'result'],
    registers,
  })
  const clients = new Counter({
    name: 'scopegate_oauth_clients_registered_total',
    help: 'Registered clients.',
    registers,
  })
  const documents = new Counter({
    name: 'scopegate_oauth_client_documents_total',
    help: 'Fetches of client documents, by result: ok or the reason of the failure.',
    labelNames: ['result'],
    registers,
  })
  const signIns = new Counter({
    name: 'scopegate_oauth_sign_ins_total',
    help: 'Completed and failed sign-ins, by provider (local: user name and password) and result: ok or the reason.',
    labelNames: ['provider', 'result'],
    registers,
  })
  const throttled = new Counter({
    name: 'scopegate_oauth_sign_ins_throttled_total',
    help: 'Sign-in attempts that got 429.',
    registers,
  })
  const consents = new Counter({
    name: 'scopegate_oauth_consents_total',
    help: 'Decisions on the consent page.',
    labelNames: ['outcome'],
    registers,
  })
  const sessionsEnded = new Counter({
    name: 'scopegate_oauth_sessions_ended_total',
    help: 'Sessions that ended before their expiry.',
    registers,
  })
  const grantsCreated = new Counter({
    name: 'scopegate_oauth_grants_created_total',
    help: 'Created grants, by consent: page, canary, or the reason for a grant without the consent page.',
    labelNames: ['consent'],
    registers,
  })
  const grantsEnded = new Counter({
    name: 'scopegate_oauth_grants_ended_total',
    help: 'Grants that ended before their expiry, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const reuse = new Counter({
    name: 'scopegate_oauth_refresh_reuse_total',
    help: 'Refresh tokens that were used again outside the repeat window or by another client; each of these uses ended the grant.',
    registers,
  })
  const repeats = new Counter({
    name: 'scopegate_oauth_refresh_repeats_total',
    help: 'Repeated refreshes within the repeat window; each got the response of the first refresh.',
    registers,
  })
  const storeErrors = new Counter({
    name: 'scopegate_oauth_store_errors_total',
    help: 'Store operations that failed during requests, by reason.',
    labelNames: ['reason'],
    registers,
  })
  // increase() ignores the first value of a series, so each series must exist before the first failure.
  for (const reason of STORE_ERROR_REASONS) storeErrors.inc({ reason }, 0)
  const storeWritable = new Gauge({
    name: 'scopegate_oauth_store_writable',
    help: '1 if the last write probe of the store succeeded, 0 if it failed.',
    registers,
  })
  const requestDurations = new BufferedHistogram<'endpoint' | 'code_class'>({
    name: 'scopegate_oauth_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response.',
    buckets: HTTP_BUCKETS,
    registers,
  })
  const storeDurations = new Histogram({
    name: 'scopegate_oauth_store_operation_duration_seconds',
    help: 'Time of store operations, by result: ok or the reason of the failure.',
    labelNames: ['operation', 'result'],
    buckets: STORE_BUCKETS,
    registers,
  })
  let clockDifference: Gauge | undefined
  return {
    registry,
    countRequest: (endpoint, grantType, result) =>
      requests.inc({ endpoint, grant_type: GRANT_TYPES.includes(grantType) ? grantType : '-', result }),
    countClientRegistered: () => clients.inc(),
    countClientDocument: (result) => documents.inc({ result }),
    countSignIn: (provider, result) => signIns.inc({ provider, result }),
    countThrottledSignIn: () => throttled.inc(),
    countConsent: (outcome) => consents.inc({ outcome }),
    countSessionEnded: () => sessionsEnded.inc(),
    countGrantCreated: (consent) => grantsCreated.inc({ consent }),
    countGrantEnded: (reason) => grantsEnded.inc({ reason }),
    countRefreshReuse: () => reuse.inc(),
    countRefreshRepeat: () => repeats.inc(),
    countStoreError: (reason) => storeErrors.inc({ reason }),
    setStoreWritable: (isWritable) => storeWritable.set(isWritable ? 1 : 0),
    setClockDifference: (aheadSeconds) => {
      // Creates the gauge with the first value. A SQLite store has no separate clock, so the metric would have no
      // value.
      clockDifference ??= new Gauge({
        name: 'scopegate_oauth_store_clock_difference_seconds',
        help: 'Seconds by which the clock of this server is ahead of the clock of the store; negative: behind.',
        registers,
      })
      clockDifference.set(aheadSeconds)
    },
    observeRequest: (endpoint, { status, seconds, traceId }) =>
      requestDurations.child({ endpoint, code_class: codeClass(status) }).observe(seconds, traceId),
    observeStoreOperation: (operation, result, seconds) =>
      storeDurations.observe({ operation, result }, seconds),
  }
}
