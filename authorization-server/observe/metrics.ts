import { Counter, Gauge, Registry } from 'prom-client'
import type { Logger } from '../../platform/logging/logger.ts'
import { collectProcessMetrics } from '../../platform/process/process-metrics.ts'
import type { StoreErrorReason } from '../store/store.ts'

/** Metrics of the authorization server. Labels never contain values from callers. */
export type Metrics = {
  readonly registry: Registry
  /** @param grantType `-` for an endpoint without grant types. */
  countRequest(endpoint: string, grantType: string, result: string): void
  countClientRegistered(): void
  /** @param result `ok`, or the reason of the failure. */
  countClientDocument(result: string): void
  countThrottledSignIn(): void
  countConsent(outcome: 'given' | 'denied'): void
  countRefreshReuse(): void
  countRefreshRepeat(): void
  countStoreError(reason: StoreErrorReason): void
  setStoreWritable(isWritable: boolean): void
  /** @param aheadSeconds time by which the clock of this process is ahead of the clock of the store. */
  setClockDifference(aheadSeconds: number): void
}

const GRANT_TYPES: readonly string[] = ['authorization_code', 'refresh_token']

/** Creates the metrics of one process in a separate registry. */
export function createMetrics(options: {
  readonly version: string
  readonly listeners: () => number
  /** Source of the counter of dropped log lines. */
  readonly logger: Logger
}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectProcessMetrics(registry, options.logger)
  new Gauge({
    name: 'scopegate_build_info',
    help: 'Version of Scopegate; always 1.',
    labelNames: ['version', 'service'],
    registers,
  }).set({ version: options.version, service: 'authorization-server' }, 1)
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
  const reuse = new Counter({
    name: 'scopegate_oauth_refresh_reuse_total',
    help: 'Refresh tokens that were used again outside the repeat window or by another client; each such use ended the grant.',
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
  const storeWritable = new Gauge({
    name: 'scopegate_oauth_store_writable',
    help: 'Whether the last write probe of the store succeeded: 1 or 0.',
    registers,
  })
  let clockDifference: Gauge | undefined
  return {
    registry,
    countRequest: (endpoint, grantType, result) =>
      requests.inc({ endpoint, grant_type: GRANT_TYPES.includes(grantType) ? grantType : '-', result }),
    countClientRegistered: () => clients.inc(),
    countClientDocument: (result) => documents.inc({ result }),
    countThrottledSignIn: () => throttled.inc(),
    countConsent: (outcome) => consents.inc({ outcome }),
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
  }
}
