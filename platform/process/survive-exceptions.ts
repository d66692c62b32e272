import type { Logger } from '../logging/logger.ts'

let survived = 0

export function exceptionsSurvived(): number {
  return survived
}

/**
 * Keeps the process alive after an uncaught exception, so that one client or upstream cannot end all other requests.
 * Calls `onFirst` after the first exception, so that a supervisor can replace the process.
 */
export function surviveExceptions(logger: Logger, onFirst?: (reason: string) => void): void {
  process.on('uncaughtException', (error, origin) => {
    survived += 1
    logger.error({ event: 'uncaught_exception', origin, err: error }, 'a defect: please report it')
    if (survived === 1) onFirst?.('uncaught exception')
  })
}
