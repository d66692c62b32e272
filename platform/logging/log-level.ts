import type { AuditLog } from './audit-log.ts'
import type { LogLevel } from './log-schema.ts'
import type { Logger } from './logger.ts'

export type LogLevelChange = {
  readonly level: LogLevel
  /** Time after which the configured level returns. Undefined: the level stays until the next change or restart. */
  readonly durationSeconds: number | undefined
  readonly clientAddress: string
}

export type ActiveLogLevel = {
  readonly level: LogLevel
  readonly configuredLevel: LogLevel
  /** Time until the configured level returns, rounded up. Undefined: the level stays. */
  readonly remainingSeconds: number | undefined
}

export type LogLevelControl = {
  readonly active: ActiveLogLevel
  /** Resolves when all processes of the service use the level. */
  change(change: LogLevelChange): Promise<void>
  close(): void
}

/**
 * Changes the log level of a running service. Each change has an audit line, because a change can hide log lines.
 * @param options.toWorkers sets the level in the other processes of the service. Undefined: the configured level.
 */
export function createLogLevelControl(options: {
  readonly configured: LogLevel
  readonly logger: Logger
  readonly audit: AuditLog
  readonly toWorkers?: (level: LogLevel | undefined) => Promise<unknown>
}): LogLevelControl {
  const { configured, logger, audit, toWorkers } = options
  let level = configured
  let endsMs: number | undefined
  let timer: NodeJS.Timeout | undefined

  async function set(
    next: LogLevel,
    by: 'endpoint' | 'timer',
    { durationSeconds, clientAddress }: Partial<LogLevelChange> = {},
  ): Promise<void> {
    audit('log_level_changed', {
      asked_by: by,
      'client.address': clientAddress,
      log_level: next,
      previous_log_level: level,
      duration_seconds: durationSeconds,
    })
    clearTimeout(timer)
    level = next
    endsMs = undefined
    logger.level = next
    await toWorkers?.(next === configured ? undefined : next)
  }

  return {
    get active() {
      const remainingSeconds =
        endsMs === undefined ? undefined : Math.ceil((endsMs - performance.now()) / 1_000)
      return { level, configuredLevel: configured, remainingSeconds }
    },
    async change(change) {
      const { level: next, durationSeconds } = change
      const applied = set(next, 'endpoint', change)
      if (durationSeconds !== undefined && next !== configured) {
        endsMs = performance.now() + durationSeconds * 1_000
        timer = setTimeout(() => void set(configured, 'timer'), durationSeconds * 1_000).unref()
      }
      await applied
    },
    close: () => clearTimeout(timer),
  }
}
