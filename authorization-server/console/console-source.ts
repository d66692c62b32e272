import type { Logger } from '../../platform/logging/logger.ts'
import type { MetricsJson } from '../../platform/ops/metrics-format.ts'
import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'
import type { ConsoleCredential, ConsoleSessionEvent } from '../../platform/pages/console-sessions.ts'
import type { Administration } from '../administration/administration.ts'
import type { ConfiguredClient } from '../administration/describe-client.ts'
import type { AuthorizationServerConfig } from '../config.ts'
import type { SigningKeys } from '../keys/signing-keys.ts'
import type { Store } from '../store/store.ts'

/** Access to the state of the authorization server. */
export type ConsoleSource = {
  readonly config: AuthorizationServerConfig
  readonly version: string
  readonly logger: Logger
  readonly store: Pick<Store, 'accounts' | 'artifacts'>
  readonly administration: Administration
  readonly configured: readonly ConfiguredClient[]
  readonly metrics: () => Promise<MetricsJson>
  readonly checks: () => readonly ReadinessCheck[]
  readonly signingKeys: () => SigningKeys
  /** Tokens of `management.adminTokenFile`. */
  readonly credential: ConsoleCredential
  readonly onSession: (event: ConsoleSessionEvent) => void
}
