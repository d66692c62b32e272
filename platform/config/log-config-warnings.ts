import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Logger } from '../logging/logger.ts'

/** Writes each warning of the configuration as a line of the log, with its code, its place and what to do. */
export function logConfigWarnings(logger: Logger, warnings: readonly Diagnostic[]): void {
  for (const { code, place, message, hint } of warnings)
    logger.warn(
      { event: 'config_warning', diagnostic: code, place },
      hint === undefined ? message : `${message}; ${hint}`,
    )
}
