import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions, symbols } from 'pino'
import { toEcsLines } from './ecs.ts'
import type { LogFormat } from './log-schema.ts'
import { LogSink } from './log-sink.ts'
import { openLog } from './open-log.ts'

export type { Logger } from 'pino'

/**
 * Creates the logger of a service: one JSON object per line on standard output, with `time` in ISO 8601. Logging never
 * blocks. If the reader is slow or has exited, or the disk is full, drops and counts lines (`droppedLines`). Log lines
 * must not contain tokens, cookies or secrets. As an additional protection, the logger redacts the fields that usually
 * contain such values.
 */
export function createLogger(
  options: { readonly level: string; readonly service: string; readonly format?: LogFormat },
  destination: DestinationStream = openLog({
    notice: (lines) => formatLines(missingLines(options.service, lines), options.format),
    tickMs: () => performance.now(),
  }),
): Logger {
  return pino(
    {
      level: options.level,
      base: { service: options.service },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label: string) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS, censor: cut },
      serializers: { err: describeError },
    },
    options.format === 'ecs' ? new EcsStream(destination) : destination,
  )
}

/** Converts lines of the default format. */
export function formatLines(lines: string, format: LogFormat | undefined): string {
  return format === 'ecs' ? toEcsLines(lines) : lines
}

class EcsStream implements DestinationStream {
  readonly destination: DestinationStream

  constructor(destination: DestinationStream) {
    this.destination = destination
  }

  write(lines: string): void {
    this.destination.write(toEcsLines(lines))
  }
}

/**
 * Returns a function that writes whole lines of the default format. These lines and the logger's own lines keep their
 * order.
 */
export function writeLines(logger: Logger): (lines: string) => void {
  const stream = streamOf(logger)
  return (lines) => void stream.write(lines)
}

/** Returns a function that writes whole lines that already have the format of the logger. */
export function writeFormattedLines(logger: Logger): (lines: string) => void {
  const destination = destinationOf(logger)
  return (lines) => void destination.write(lines)
}

export function droppedLines(logger: Logger): number {
  const stream = destinationOf(logger)
  return stream instanceof LogSink ? stream.droppedLines : 0
}

/** Resolves when all logged lines are written or dropped, or after `timeoutMs` milliseconds. For use before an exit. */
export async function whenWritten(logger: Logger, timeoutMs: number): Promise<void> {
  const stream = destinationOf(logger)
  if (stream instanceof LogSink) await stream.whenIdle(timeoutMs)
}

function streamOf(logger: Logger): DestinationStream {
  const stream = (logger as unknown as Readonly<Record<symbol, DestinationStream | undefined>>)[
    symbols.streamSym
  ]
  if (stream === undefined) throw new Error('this logger has no stream')
  return stream
}

function destinationOf(logger: Logger): DestinationStream {
  const stream = streamOf(logger)
  return stream instanceof EcsStream ? stream.destination : stream
}

function missingLines(service: string, lines: number): string {
  const time = new Date().toISOString()
  const fields = { level: 'warn', time, service, event: 'log_lines_dropped', lines }
  return `${JSON.stringify({ ...fields, msg: 'log lines dropped: the reader was too slow' })}\n`
}

export type LoggedError = {
  readonly type: string
  readonly message: string
  readonly stack?: string
  readonly code?: string | number
  readonly causeCode?: string
}

const described = new WeakSet<object>()

/** Describes an expected failure, such as a refused connection: without the stack, and with the code of the cause. */
export function describeFailure(error: unknown): LoggedError {
  const { stack: _, ...failure } = describeError(error instanceof Error ? error : new Error(String(error)))
  const causeCode = error instanceof Error ? codeOf(error.cause) : undefined
  const shown = causeCode === undefined ? failure : { ...failure, causeCode }
  described.add(shown)
  return shown
}

/** Selects the logged members of an error. Libraries attach other members, such as bytes from a peer. */
function describeError(error: Error | LoggedError): LoggedError {
  if (described.has(error)) return error as LoggedError
  const serialized: Readonly<Record<string, unknown>> = { ...stdSerializers.err(error as Error) }
  return Object.fromEntries(
    ERROR_FIELDS.filter((name) => name in serialized).map((name) => [name, serialized[name]]),
  ) as LoggedError
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
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

const SECRET_FIELDS = SECRET_NAMES.flatMap((name) => [name, `headers.${name}`, `req.headers.${name}`])

/** Error codes of this project, undici and the system. An authorization code (RFC 6749 section 1.3.1) never matches. */
const ERROR_CODE = /^(?:UND_ERR_|E)[A-Z0-9_]{2,60}$/

function cut(value: unknown, path: readonly string[]): unknown {
  const isErrorCode = path.at(-1) === 'code' && typeof value === 'string' && ERROR_CODE.test(value)
  return isErrorCode ? value : '[cut]'
}
