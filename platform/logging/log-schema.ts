import { Type } from '../diagnostics/schema/schema-builder.ts'
import { FilePath } from '../diagnostics/schema/value-schemas.ts'
import { LOG_LEVELS, type LogLevel } from './log-level.ts'

/** The section `log` that both services have. */
export type LogConfig = {
  readonly level: LogLevel
  /** Undefined: the audit lines go to the log. */
  readonly auditFile: string | undefined
}

/** Keys of the section `log` that both services have. */
export const LOG_KEYS = {
  level: Type.Optional(
    Type.Enum([...LOG_LEVELS], { description: 'trace, debug, info, warn, error, fatal or silent' }),
  ),
  auditFile: Type.Optional(
    FilePath('file or named pipe for the audit lines; default: the log on standard output'),
  ),
}

export function toLogConfig(
  section: { readonly level?: LogLevel; readonly auditFile?: string } | undefined,
): LogConfig {
  return { level: section?.level ?? 'info', auditFile: section?.auditFile }
}
