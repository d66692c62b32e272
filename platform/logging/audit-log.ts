import type { Logger } from './logger.ts'

/** Writes the audit line of an action. `log.level` has no effect on audit lines. */
export type AuditLog = (action: string, fields: Readonly<Record<string, unknown>>) => void

/** Creates an audit log that writes to the destination of the logger. */
export function createAuditLog(logger: Logger): AuditLog {
  const always = logger.child({})
  // The option `level` of child() has no effect if the logger has this level, so later changes would affect audit lines.
  always.level = 'info'
  return (action, fields) => always.info({ event: 'audit', action, ...fields }, action.replaceAll('_', ' '))
}
