import { tracingChannel } from 'node:diagnostics_channel'
import { failSpan, type Span, type Tracing } from './tracing.ts'

/** A command to a store. The names of the fields are the names that ioredis uses on its channel. */
export type StoreCommand = {
  /** Only the name of the command, without keys and values. */
  readonly command: string
  readonly serverAddress: string
  readonly serverPort?: number | undefined
}

/** The channel on which the PostgreSQL store publishes its statements, because `pg` has no channel. */
export const POSTGRES_COMMANDS = tracingChannel<StoreCommand, StoreCommand>('scopegate:postgres')

/** The channels of the clients, by `db.system.name`. ioredis defines the name of its channel. */
const CHANNELS = {
  redis: tracingChannel<StoreCommand, StoreCommand>('ioredis:command'),
  postgresql: POSTGRES_COMMANDS,
}

/**
 * Commands with which the client of Redis connects, finds the nodes of a cluster, or probes Redis. A request can cause
 * these commands, but they are not part of the request.
 */
const CONNECTION_COMMANDS: ReadonlySet<string> = new Set([
  ...[
    'asking',
    'auth',
    'client',
    'cluster',
    'hello',
    'info',
    'ping',
    'readonly',
    'role',
    'select',
    'sentinel',
  ],
])

/**
 * Records the commands to Redis and PostgreSQL in client spans below the current span. Commands without a current span
 * get no span, for example the commands of a timer. `CONNECTION_COMMANDS` get no span either.
 * @returns a function that stops the recording.
 */
export function traceStores(tracing: Pick<Tracing, 'current' | 'startClientSpan'>): () => void {
  const spans = new WeakMap<object, Span>()

  function onEnd(message: unknown): void {
    const { error } = message as { readonly error?: unknown }
    const span = spans.get(message as object)
    if (span === undefined) return
    if (error !== undefined) failSpan(span, error)
    span.end()
  }

  const stops = Object.entries(CHANNELS).map(([system, channel]) => {
    function onStart(message: unknown): void {
      const parent = tracing.current()
      const { command, serverAddress, serverPort } = message as StoreCommand
      if (parent === undefined || (system === 'redis' && CONNECTION_COMMANDS.has(command))) return
      const operation = command.toUpperCase()
      const attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'server.address': serverAddress,
        ...(serverPort === undefined ? {} : { 'server.port': serverPort }),
      }
      spans.set(message as object, tracing.startClientSpan(`${operation} ${system}`, parent, attributes))
    }
    channel.start.subscribe(onStart)
    channel.asyncEnd.subscribe(onEnd)
    return () => {
      channel.start.unsubscribe(onStart)
      channel.asyncEnd.unsubscribe(onEnd)
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}
