import type { Logger } from '../platform/logging/logger.ts'

/**
 * Libraries print notices to the console; on a service's standard output only log lines have a place. From here on
 * whatever is printed becomes one. For the process's entry only: it changes the console for everybody.
 */
export function routeConsole(logger: Pick<Logger, 'info' | 'warn'>): void {
  const line = (values: readonly unknown[]): string => values.map(String).join(' ')
  console.log = console.info = console.debug = (...values) => logger.info({ event: 'console' }, line(values))
  console.warn = console.error = (...values) => logger.warn({ event: 'console' }, line(values))
}
