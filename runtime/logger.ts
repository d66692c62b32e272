import { EventEmitter } from 'node:events'
import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions, symbols } from 'pino'

export type { Logger } from 'pino'

/**
 * Makes the log of one service: a JSON object on each line of standard output, `time` in ISO 8601.
 * Tokens, cookies and secrets have no business in a log line; the names they travel under are cut as a last line of defence.
 */
export function createLogger(
  options: { readonly level: string; readonly service: string },
  destination?: DestinationStream,
): Logger {
  const settings = {
    level: options.level,
    base: { service: options.service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS, censor: '[cut]' },
    serializers: { err: describeError },
  }
  return destination === undefined ? pino(settings) : pino(settings, destination)
}

/**
 * Waits until what was logged is written, or cannot be, at most `timeoutMs` milliseconds. Before the process ends: what
 * is left then is written by a loop that never gives up when nobody reads any more (sonic-boom's `flushSync()`).
 */
export function whenWritten(logger: Logger, timeoutMs: number): Promise<void> {
  const stream = (logger as unknown as Readonly<Record<symbol, unknown>>)[symbols.streamSym]
  if (!(stream instanceof EventEmitter)) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(done, timeoutMs)
    stream.once('drain', done)
    stream.once('error', done)
  })
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
