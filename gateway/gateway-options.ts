import type { Logger } from '../platform/logging/logger.ts'
import type { PolicySources } from '../policy-engine/load/policy-sources.ts'
import type { GatewayConfig } from './config/gateway-config.ts'
import type { PressureReading } from './limits/overload/read-pressure.ts'
import type { ResolveName } from './upstreams/name-addresses.ts'

/** What a gateway is started with, in one process or in each of its workers. */
export type GatewayOptions = {
  readonly config: GatewayConfig
  readonly logger: Logger
  /** In a worker, without a key file: what all workers sign assertions with. PEM. */
  readonly assertionKey?: string | undefined
  /** The policies to begin with; without them they are read from the disk. */
  readonly policies?: PolicySources | undefined
  /** Finds the addresses of upstreams; the system's resolver unless it is given. */
  readonly resolve?: ResolveName | undefined
  /** A clock that never jumps, in place of the process's own. Milliseconds. */
  readonly tickMs?: (() => number) | undefined
  /** What is looked at in place of this process to see whether it has too much to do. */
  readonly readPressure?: (() => PressureReading) | undefined
}
