import type { Logger } from '../../../platform/logging/logger.ts'
import type { GatewayCheck } from '../../observability/readiness-check.ts'
import { collectGarbage } from './heap-use.ts'
import {
  NORMAL,
  nextOverloadLevel,
  type OverloadLevel,
  type OverloadLimits,
  type OverloadReason,
} from './overload-level.ts'
import { createPressureReader, type PressureReading } from './read-pressure.ts'

type OverloadMonitorOptions = {
  readonly limits: OverloadLimits
  readonly read: () => PressureReading
  readonly collectGarbage: () => void
  readonly logger: Logger
}

/**
 * Interval between two readings. The interval is short, because the heap of a small process can fill within one second.
 */
const READ_EVERY_MS = 100
/** Readings between two forced garbage collections (2 s) while container memory is low. */
const COLLECT_EVERY_READINGS = 20
/** Event loop delay above which a process cannot serve requests. Milliseconds. */
const LAGGING_MS = 1_000
/**
 * Consecutive slow readings before the readiness check fails. A garbage collection or a large document may cause a
 * single slow reading.
 */
const LAGGING_READINGS = 3

/** Measures the load of the process every 100 ms and sets the overload level. */
export class OverloadMonitor {
  /** Reason to reject requests. If undefined, the gateway accepts requests. Read on every request. */
  rejecting: OverloadReason | undefined
  /** Whether the gateway closes connections after each response. */
  closing = false
  readonly #options: OverloadMonitorOptions
  #level: OverloadLevel = NORMAL
  #reading: PressureReading = { heap: 0, memory: 0, loop: 0, longestDelayMs: 0 }
  #longestDelayMs = 0
  #shortReadings = 0
  #lagging = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: OverloadMonitorOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => this.measure(), READ_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  get level(): OverloadLevel['level'] {
    return this.#level.level
  }

  get reading(): PressureReading {
    return this.#reading
  }

  /** Returns the longest event loop delay since the previous call. Milliseconds. */
  takeLongestDelayMs(): number {
    const longest = this.#longestDelayMs
    this.#longestDelayMs = 0
    return longest
  }

  /**
   * Readiness check that fails while the event loop is slow, so that a load balancer sends requests to another gateway.
   */
  check(): GatewayCheck {
    const ok = this.#lagging < LAGGING_READINGS
    const ms = Math.round(this.#reading.longestDelayMs)
    return {
      kind: 'event_loop',
      name: 'event_loop',
      ok,
      ...(ok ? {} : { detail: `event loop delay up to ${ms} ms` }),
    }
  }

  measure(): void {
    const { limits, read, collectGarbage } = this.#options
    const before = this.#level
    const reading = read()
    this.#reading = reading
    this.#longestDelayMs = Math.max(this.#longestDelayMs, reading.longestDelayMs)
    this.#lagging = reading.longestDelayMs > LAGGING_MS ? this.#lagging + 1 : 0
    const level = nextOverloadLevel(before, reading, limits)
    this.#level = level
    this.closing = level.level !== 'normal'
    this.rejecting = level.level === 'refusing' ? level.reason : undefined
    if (level.level !== before.level) this.#logLevelChange(level, reading)
    this.#shortReadings = level.reason === 'memory' ? this.#shortReadings + 1 : 0
    if (this.#shortReadings > 0 && this.#shortReadings % COLLECT_EVERY_READINGS === 0) collectGarbage()
  }

  #logLevelChange({ level, reason }: OverloadLevel, { heap, memory, loop }: PressureReading): void {
    const { logger } = this.#options
    const fields = {
      event: 'overload',
      state: level,
      reason,
      heap_ratio: round(heap),
      memory_ratio: round(memory),
      loop_delay_ms: Math.round(loop),
    }
    if (level === 'normal') logger.info(fields, 'overload ended: all requests are accepted again')
    else if (level === 'closing') logger.warn(fields, 'overload: closing connections after each response')
    else logger.warn(fields, 'overload: rejecting requests')
  }
}

function round(ratio: number): number {
  return Math.round(ratio * 100) / 100
}

type OpenOverloadMonitor = { readonly monitor: OverloadMonitor; close(): void }

export function openOverloadMonitor(options: {
  readonly limits: OverloadLimits
  readonly logger: Logger
  /** Number of processes that share the container's memory. */
  readonly processes: number
  /** Replaces the measurement of this process. */
  readonly readPressure: (() => PressureReading) | undefined
}): OpenOverloadMonitor {
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
