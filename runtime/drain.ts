import type { Logger } from './logger.ts'

/**
 * Calls `stop` once when the process is asked to end: SIGTERM, SIGINT, or the parent that started it going away.
 * Exits 0 when `stop` is done, 1 when it failed or took longer than `graceMs` milliseconds.
 */
export function onTermination(
  stop: () => Promise<void>,
  options: { readonly logger: Logger; readonly graceMs: number },
): void {
  let stopping = false
  const end = (reason: string): void => {
    if (stopping) return
    stopping = true
    options.logger.info({ event: 'stopping', reason }, 'stopping')
    const deadline = setTimeout(() => {
      options.logger.error(
        { event: 'stop_timeout', grace_ms: options.graceMs },
        'requests were still running at the end of the grace',
      )
      process.exit(1)
    }, options.graceMs)
    stop().then(
      () => {
        clearTimeout(deadline)
        options.logger.info({ event: 'stopped' }, 'stopped')
        process.exit(0)
      },
      (error: unknown) => {
        options.logger.error({ event: 'stop_failed', err: error }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => end('SIGTERM'))
  process.on('SIGINT', () => end('SIGINT'))
  process.on('disconnect', () => end('parent gone'))
}
