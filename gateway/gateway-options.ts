import type { Logger } from '../platform/logging/logger.ts'
import type { ResolveName } from '../platform/net/resolve-name.ts'
import type { ResolveSrv } from '../platform/net/resolve-srv.ts'
import type { PolicySources } from '../policy-engine/load/policy-sources.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import type { PressureReading } from './limits/overload/read-pressure.ts'
import type { HandOver } from './pipeline/hand-over.ts'
import type { ValidVersions } from './snapshot/reload/source-versions.ts'

export type GatewayOptions = {
  readonly config: GatewayConfig
  readonly logger: Logger
  /** The key with which all workers sign assertions, in PEM. Set in a worker without a key file. */
  readonly assertionKey?: string | undefined
  /** Initial policies. Default: the gateway reads the policies from the disk. */
  readonly policies?: PolicySources | undefined
  /** Last valid versions of the policy sources, for a worker that reads the policies from the disk. */
  readonly validVersions?: ValidVersions | undefined
  /** Resolves the addresses of upstreams. Default: the resolver of the system. */
  readonly resolve?: ResolveName | undefined
  /** Resolves the SRV records of upstreams. Default: the name servers of the system. */
  readonly resolveSrv?: ResolveSrv | undefined
  /** Monotonic clock that replaces the clock of the process. Milliseconds. */
  readonly tickMs?: (() => number) | undefined
  /** Replaces the measurement of this process for overload detection. */
  readonly readPressure?: (() => PressureReading) | undefined
  /** Replaces the start-up test of the sockets to upstreams. */
  readonly canReadAfterWriteError?: (() => Promise<boolean>) | undefined
  /** Set if another server of this process receives the requests. The gateway then listens on no port. */
  readonly handOver?: HandOver | undefined
}
