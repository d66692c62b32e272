import { Counter, type Registry } from 'prom-client'
import { openAuditFile } from './audit-file.ts'
import { createFailureLog } from './failure-log.ts'
import type { LogConfig } from './log-schema.ts'
import { createLogger, type Logger, writeFormattedLines } from './logger.ts'

/** Writes the audit line of an action. The log level has no effect on audit lines. */
export type AuditLog = (action: string, fields: Readonly<Record<string, unknown>>) => void

export type OpenedAuditLog = {
  readonly audit: AuditLog
  /** Adds the counter of failed lines to the metrics. */
  register(registry: Registry): void
  /** Writes the remaining lines, and closes the file. */
  close(): Promise<void>
}

const FILE_FAILED = {
  event: 'audit_file_failed',
  message: 'cannot write to log.auditFile: the audit lines follow in this log',
  level: 'error',
} as const

/**
 * Opens the audit log: the file, or the log of the service. If a write to the file fails, the audit lines go to the log
 * of the service.
 * @param options.log without `auditFile`, all audit lines go to the log of the service.
 * @throws {BootError} ERR_AUDIT_FILE_UNUSABLE when the service cannot open the file.
 */
export async function openAuditLog(options: {
  readonly log: Pick<LogConfig, 'auditFile' | 'format'>
  readonly service: string
  readonly logger: Logger
}): Promise<OpenedAuditLog> {
  const { service, logger } = options
  const { auditFile: file, format } = options.log
  let failedLines = 0
  const register = (registry: Registry): void => {
    new Counter({
      name: 'scopegate_audit_lines_failed_total',
      help: 'Audit lines that the service could not write to log.auditFile, and wrote to its log.',
      registers: [registry],
      collect() {
        this.reset()
        this.inc(failedLines)
      },
    })
  }
  if (file === undefined) return { audit: createAuditLog(logger), register, close: async () => undefined }

  const failures = createFailureLog(logger)
  const writeToLog = writeFormattedLines(logger)
  const opened = await openAuditFile({
    file,
    service,
    format,
    onFailed(lines, error) {
      failures.failed({ ...FILE_FAILED, fields: { file } }, error)
      failedLines += lines.split('\n').length - 1
      writeToLog(lines)
    },
  })
  return {
    audit: createAuditLog(createLogger({ level: 'info', service, format }, opened)),
    register,
    async close() {
      await opened.close()
      failures.close()
    },
  }
}

/** Creates an audit log that writes to the destination of the logger. */
export function createAuditLog(logger: Logger): AuditLog {
  const always = logger.child({})
  // The option `level` of child() has no effect if the logger has this level, so later changes would affect audit lines.
  always.level = 'info'
  return (action, fields) => always.info({ event: 'audit', action, ...fields }, action.replaceAll('_', ' '))
}
