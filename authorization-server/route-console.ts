import type { Logger } from '../platform/logging/logger.ts'

/**
 * Turns console output into log lines. Libraries print notices to the console, but the standard output of a service is
 * for log lines only. Call this function only from the entry point of a process, because the function changes the
 * console of the whole process.
 */
export function routeConsole(logger: Pick<Logger, 'info' | 'warn'>): void {
  const line = (values: readonly unknown[]): string => values.map(String).join(' ')
  console.log = console.info = console.debug = (...values) => logger.info({ event: 'console' }, line(values))
  console.warn = console.error = (...values) => logger.warn({ event: 'console' }, line(values))
}
