import { pino } from 'pino'
import type { Logger } from '../../runtime/logger.ts'

/** The stream that the logger writes to, so that access lines and log lines stay in one order. */
export function logStream(logger: Logger): (lines: string) => void {
  const stream = (logger as unknown as Record<symbol, { write(text: string): void }>)[pino.symbols.streamSym]
  if (stream === undefined) throw new Error('this logger has no stream')
  return (lines) => stream.write(lines)
}
