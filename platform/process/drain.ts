import { type Logger, whenWritten } from '../logging/logger.ts'

/** Time to write the last log lines before the exit. Milliseconds. */
const LAST_LINES_MS = 250

/** Time after the drain's grace period at which the process exits by force. Milliseconds. */
export const FORCED_EXIT_MS = 5_000

export type ShutdownReason = 'SIGTERM' | 'SIGINT' | 'parent gone'

/**
 * `graceful`: accepts requests for the drain delay. `immediate`: skips the delay, because no load balancer is in front.
 */
export type ShutdownMode = 'graceful' | 'immediate'

/**
 * Returns `graceful` for SIGTERM, because a service manager sends SIGTERM and a load balancer can be in front. The
 * other reasons come from an interactive process, which has no load balancer.
 */
export function shutdownMode(reason: ShutdownReason): ShutdownMode {
  return reason === 'SIGTERM' ? 'graceful' : 'immediate'
}

/**
 * Calls `stop` once when the process receives SIGTERM or SIGINT, or when its parent process exits.
 * Exits with 0 when `stop` resolves, or with 1 when `stop` rejects or takes longer than `graceMs` milliseconds.
 */
export function onTermination(
  stop: (reason: ShutdownReason) => Promise<void>,
  options: { readonly logger: Logger; readonly graceMs: number },
): void {
  let stopping = false
  const end = (reason: ShutdownReason): void => {
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
        'requests were still running at the end of the grace period',
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
