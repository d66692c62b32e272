import type { Logger } from './logger.ts'

/**
 * Keeps the process alive when an exception gets past everybody: what one client or upstream sends must not end the
 * requests of all others. The request it belongs to ends by its own deadline. Whoever can have a fresh process
 * instead is told, once.
 */
export function surviveExceptions(logger: Logger, onFirst?: (reason: string) => void): void {
  let told = false
  process.on('uncaughtException', (error, origin) => {
    logger.error({ event: 'uncaught_exception', origin, err: error }, 'a defect: please report it')
    if (told) return
    told = true
    onFirst?.('uncaught exception')
  })
}
