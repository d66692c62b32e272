import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions, symbols } from 'pino'
import { LogSink } from './log-sink.ts'
import { openLog } from './open-log.ts'

export type { Logger } from 'pino'

/**
 * Makes the log of one service: a JSON object on each line of standard output, `time` in ISO 8601. A reader that is slow
 * or gone, or a full disk, holds nobody up: lines are dropped then and counted (`droppedLines`).
 * Tokens, cookies and secrets have no business in a log line; the names they travel under are cut as a last line of defence.
 */
export function createLogger(
  options: { readonly level: string; readonly service: string },
  destination: DestinationStream = openLog({
    notice: (lines) => missingLines(options.service, lines),
    tickMs: () => performance.now(),
  }),
): Logger {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS, censor: '[cut]' },
      serializers: { err: describeError },
    },
    destination,
  )
}

/** Takes whole lines, in order with those that the logger writes itself. */
export function writeLines(logger: Logger): (lines: string) => void {
  const stream = streamOf(logger)
  return (lines) => void stream.write(lines)
}

/** How many lines were never written. */
export function droppedLines(logger: Logger): number {
  const stream = streamOf(logger)
  return stream instanceof LogSink ? stream.droppedLines : 0
}

/** Before the process ends: waits until what was logged is written, or cannot be, at most `timeoutMs` milliseconds. */
export async function whenWritten(logger: Logger, timeoutMs: number): Promise<void> {
  const stream = streamOf(logger)
  if (stream instanceof LogSink) await stream.whenIdle(timeoutMs)
}

function streamOf(logger: Logger): DestinationStream {
  const stream = (logger as unknown as Readonly<Record<symbol, DestinationStream | undefined>>)[
    symbols.streamSym
  ]
  if (stream === undefined) throw new Error('this logger has no stream')
  return stream
}

/** Stands in the log where lines are missing. */
function missingLines(service: string, lines: number): string {
  const time = new Date().toISOString()
  const fields = { level: 'warn', time, service, event: 'log_lines_dropped', lines }
  return `${JSON.stringify({ ...fields, msg: 'lines are missing here: nobody took them' })}\n`
}

/** What an error says of itself. Libraries attach more, such as the bytes that a peer sent: those are not for a log. */
function describeError(error: Error): object {
  const said: Readonly<Record<string, unknown>> = { ...stdSerializers.err(error) }
  return Object.fromEntries(ERROR_FIELDS.filter((name) => name in said).map((name) => [name, said[name]]))
}

const ERROR_FIELDS = ['type', 'message', 'stack', 'code', 'errno', 'syscall', 'address', 'port']

const SECRET_NAMES = [
  'authorization',
  'cookie',
  'code',
  'code_verifier',
  'access_token',
  'refresh_token',
  'client_secret',
  'clientSecret',
  'password',
]

// An Error's own `code` is a stable name such as ECONNREFUSED: only the top level and headers are cut.
const SECRET_FIELDS = SECRET_NAMES.flatMap((name) => [name, `headers.${name}`, `req.headers.${name}`])
