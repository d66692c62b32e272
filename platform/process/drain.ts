import { type Logger, whenWritten } from '../logging/logger.ts'

/** What is still to be logged at the end gets this long. Milliseconds. */
const LAST_LINES_MS = 250

/** A process that has not ended this long after the drain's grace is ended. Milliseconds. */
export const LAST_RESORT_MS = 5_000

/** The reason why a process ends. */
export type EndReason = 'SIGTERM' | 'SIGINT' | 'parent gone'

/** `graceful`: requests are accepted for the drain delay. `immediate`: no load balancer has to notice. */
export type ShutdownMode = 'graceful' | 'immediate'

/** A service manager sends SIGTERM and has load balancers in front; a person at a terminal has none. */
export function shutdownMode(reason: EndReason): ShutdownMode {
  return reason === 'SIGTERM' ? 'graceful' : 'immediate'
}

/**
 * Calls `stop` once when the process is asked to end: SIGTERM, SIGINT, or the parent that started it going away.
 * Exits 0 when `stop` is done, 1 when it failed or took longer than `graceMs` milliseconds.
 */
export function onTermination(
  stop: (reason: EndReason) => Promise<void>,
  options: { readonly logger: Logger; readonly graceMs: number },
): void {
  let stopping = false
  const end = (reason: EndReason): void => {
    if (stopping) return
    stopping = true
    options.logger.info({ event: 'stopping', reason }, 'stopping')
    const exit = (code: number): void => {
      clearTimeout(deadline)
      whenWritten(options.logger, LAST_LINES_MS).then(() => process.exit(code))
    }
    const deadline = setTimeout(() => {
      options.logger.error(
        { event: 'stop_timeout', grace_ms: options.graceMs },
        'requests were still running at the end of the grace',
      )
      exit(1)
    }, options.graceMs)
    stop(reason).then(
      () => {
        options.logger.info({ event: 'stopped' }, 'stopped')
        exit(0)
      },
      (error: unknown) => {
        options.logger.error({ event: 'stop_failed', err: error }, 'stopping failed')
        exit(1)
      },
    )
  }
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
  process.on('disconnect', () => end('parent gone'))
}
