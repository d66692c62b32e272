import { Type } from '../diagnostics/schema/schema-builder.ts'
import { FilePath } from '../diagnostics/schema/value-schemas.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

export const LOG_FORMATS = ['default', 'ecs'] as const

/** Field names of log lines. `ecs`: names of the Elastic Common Schema. */
export type LogFormat = (typeof LOG_FORMATS)[number]

/** The section `log` that both services have. */
export type LogConfig = {
  readonly level: LogLevel
  /** Undefined: the audit lines go to the log. */
  readonly auditFile: string | undefined
  readonly format: LogFormat
}

/** Keys of the section `log` that both services have. */
export const LOG_KEYS = {
  level: Type.Optional(
    Type.Enum([...LOG_LEVELS], {
      description: 'lowest level of the lines in the log: trace, debug, info, warn, error, fatal or silent',
    }),
  ),
  auditFile: Type.Optional(
    FilePath('file or named pipe for the audit lines; default: the log on standard output'),
  ),
  format: Type.Optional(
    Type.Enum([...LOG_FORMATS], {
      description: 'default, or ecs for the field names of the Elastic Common Schema',
    }),
  ),
}

export function toLogConfig(
  section:
    | { readonly level?: LogLevel; readonly auditFile?: string; readonly format?: LogFormat }
    | undefined,
): LogConfig {
  return {
    level: section?.level ?? 'info',
    auditFile: section?.auditFile,
    format: section?.format ?? 'default',
  }
}
