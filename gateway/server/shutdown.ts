import { setTimeout as wait } from 'node:timers/promises'
import type { DrainConfig } from '../../platform/config/drain-schema.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { GracefulClose } from '../../platform/net/graceful-close.ts'
import type { WebsocketSessions } from '../upstreams/websocket/sessions.ts'

export type ShutdownOptions = {
  /**
   * - `graceful`: accept connections during the drain delay, until load balancers have noticed the shutdown.
   * - `handoff`: another worker listens on the same port, so stop accepting immediately. Close an open connection
   *   after the connection was idle for the drain delay, so that the client can use the connection once more.
   * - `immediate`: shut down without a delay.
   */
  readonly how: 'graceful' | 'handoff' | 'immediate'
  /** Polls the listener of the public port, if another process has the listener. See `FinishOptions`. */
  readonly pollListener?: () => Promise<unknown>
}

/**
 * Shuts down the public port. Requests in flight get their responses. Ends event streams and WebSockets. At the end of
 * the grace period, closes the remaining connections.
 */
export async function shutdown(
  { how, pollListener }: ShutdownOptions,
  serving: {
    readonly drain: DrainConfig
    readonly connections: GracefulClose
    readonly endStreams: () => void
    readonly sessions: WebsocketSessions
    readonly server: { close(): Promise<unknown> }
    readonly logger: Logger
  },
): Promise<void> {
  const { connections, endStreams, sessions, server, logger } = serving
  const { delayMs, graceMs } = serving.drain
  const startedMs = performance.now()
  connections.announce()
  if (how === 'graceful') await wait(delayMs)
  const leftMs = (): number => Math.max(0, graceMs - (performance.now() - startedMs))
  const left = new AbortController()
  const streamsOver = wait(how === 'immediate' ? 0 : streamGraceMs(leftMs()), undefined, {
    signal: left.signal,
  }).then(
    () => {
      // Event streams and WebSockets would otherwise stay open. The clients reconnect to another process.
      endStreams()
      return sessions.drain()
    },
    () => undefined, // aborted: all connections are already closed
  )
  const cut = await connections.finish({
    graceMs: leftMs(),
    // After a handoff, the other worker accepts the queued connections.
    ...(how === 'handoff' ? { quietMs: delayMs, pollListener: async () => undefined } : { pollListener }),
  })
  if (cut > 0)
    logger.warn(
      { event: 'connections_cut', connections: cut },
      'grace period over: remaining connections closed',
    )
  left.abort()
  await streamsOver
  await server.close()
}

/**
 * Time at the end of the grace period. In this time, the client and the upstream of a WebSocket complete the closing
 * handshake. Milliseconds.
 */
const CLOSING_HANDSHAKE_MS = 4_000

/**
 * Returns the time for which event streams and WebSockets stay open. This time is most of the grace period, because
 * many streams and WebSockets end by themselves.
 */
function streamGraceMs(graceMs: number): number {
  return Math.max(graceMs - CLOSING_HANDSHAKE_MS, graceMs / 2)
}
