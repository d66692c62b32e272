import type { Logger } from '../logging/logger.ts'

let survived = 0

/** How many exceptions this process has survived. */
export function exceptionsSurvived(): number {
  return survived
}

/**
 * Keeps the process alive when an exception gets past everybody: what one client or upstream sends must not end the
 * requests of all others. Whoever can have a fresh process instead is told, once.
 */
export function surviveExceptions(logger: Logger, onFirst?: (reason: string) => void): void {
  process.on('uncaughtException', (error, origin) => {
    survived += 1
    logger.error({ event: 'uncaught_exception', origin, err: error }, 'a defect: please report it')
    if (survived === 1) onFirst?.('uncaught exception')
  })
}
