import type { Logger } from '../../../platform/logging/logger.ts'
import { collectGarbage } from './collect-garbage.ts'
import type { OverloadLimits } from './overload-level.ts'
import { OverloadMonitor } from './overload-monitor.ts'
import { createPressureReader, type PressureReading } from './read-pressure.ts'

export type Overload = { readonly monitor: OverloadMonitor; close(): void }

export function openOverload(options: {
  readonly limits: OverloadLimits
  readonly logger: Logger
  /** Number of processes that share the container's memory. */
  readonly processes: number
  /** Replaces the measurement of this process. */
  readonly readPressure: (() => PressureReading) | undefined
}): Overload {
  const reader = createPressureReader({ ...options, tickMs: () => performance.now() })
  const monitor = new OverloadMonitor({
    limits: options.limits,
    read: options.readPressure ?? reader.read,
    collectGarbage,
    logger: options.logger,
  })
  monitor.start()
  return {
    monitor,
    close() {
      monitor.close()
      reader.close()
    },
  }
}
