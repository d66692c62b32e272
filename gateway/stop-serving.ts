import { setTimeout as wait } from 'node:timers/promises'
import type { GentleClose } from '../runtime/gentle-close.ts'
import type { Logger } from '../runtime/logger.ts'
import type { DrainConfig } from './config/gateway-config.ts'
import type { WebsocketSessions } from './upstreams/websocket/sessions.ts'

/** How a gateway, or one of its workers, ends. */
export type StopOptions = {
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
export async function stopServing(
  { how }: StopOptions,
  serving: {
    readonly drain: DrainConfig
    readonly connections: GentleClose
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
  // What would go on for ever ends now: its clients come again, elsewhere.
  endStreams()
  const sessionsOver = sessions.drain()
  const cut = await connections.finish({
    graceMs: Math.max(0, graceMs - (performance.now() - startedMs)),
    ...(how === 'retiring' ? { quietMs: delayMs } : {}),
  })
  if (cut > 0) logger.warn({ event: 'connections_cut', connections: cut }, 'what was still open was cut')
  await sessionsOver
  await server.close()
}
