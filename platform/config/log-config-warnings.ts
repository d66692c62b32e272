import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Logger } from '../logging/logger.ts'

/** Logs each configuration warning with its code, source location and hint. */
export function logConfigWarnings(logger: Logger, warnings: readonly Diagnostic[]): void {
  for (const { code, place, message, hint } of warnings)
    logger.warn(
      { event: 'config_warning', diagnostic: code, place },
      hint === undefined ? message : `${message}; ${hint}`,
    )
}
