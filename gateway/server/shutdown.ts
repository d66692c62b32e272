import { setTimeout as wait } from 'node:timers/promises'
import type { DrainConfig } from '../../platform/config/drain-schema.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { GracefulClose } from '../../platform/net/graceful-close.ts'
import type { WebsocketSessions } from '../upstreams/websocket/sessions.ts'

/** How a gateway, or one of its workers, ends. */
export type ShutdownOptions = {
  /**
   * `accepting`: it accepts for the drain delay, until load balancers have noticed. `retiring`: others listen on the
   * same port, so it stops accepting at once, and lets clients use their connections once more. `now`: nobody has to notice.
   */
  readonly how: 'accepting' | 'retiring' | 'now'
}

/**
 * Ends the public port: what is under way is answered, what would go on for ever is ended, and what is still open when
 * the grace is over is cut.
 */
export async function shutdown(
  { how }: ShutdownOptions,
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
  if (how === 'accepting') await wait(delayMs)
  const leftMs = (): number => Math.max(0, graceMs - (performance.now() - startedMs))
  const left = new AbortController()
  const streamsOver = wait(how === 'now' ? 0 : streamsMayStayMs(leftMs()), undefined, {
    signal: left.signal,
  }).then(
    () => {
      // What would go on for ever ends now: its clients come again, elsewhere.
      endStreams()
      return sessions.drain()
    },
    () => undefined, // all of them have ended by themselves
  )
  const cut = await connections.finish({
    graceMs: leftMs(),
    ...(how === 'retiring' ? { quietMs: delayMs } : {}),
  })
  if (cut > 0) logger.warn({ event: 'connections_cut', connections: cut }, 'what was still open was cut')
  left.abort()
  await streamsOver
  await server.close()
}

/** Before the end of the grace: both sides of a WebSocket get time to say goodbye. Milliseconds. */
const GOODBYE_MS = 4_000

/** Event streams and WebSockets stay while the grace allows: many end by themselves meanwhile. Milliseconds. */
function streamsMayStayMs(graceMs: number): number {
  return Math.max(graceMs - GOODBYE_MS, graceMs / 2)
}
