import type { Logger } from '../logging/logger.ts'

let caught = 0

export function uncaughtExceptions(): number {
  return caught
}

/**
 * Keeps the process alive after an uncaught exception, so that one client or upstream cannot end all other requests.
 * Calls `onFirst` after the first exception, so that a supervisor can replace the process.
 */
export function handleUncaughtExceptions(logger: Logger, onFirst?: (reason: string) => void): void {
  process.on('uncaughtException', (error, origin) => {
    caught += 1
    logger.error({ event: 'uncaught_exception', origin, err: error }, 'a defect: please report it')
    if (caught === 1) onFirst?.('uncaught exception')
  })
}
