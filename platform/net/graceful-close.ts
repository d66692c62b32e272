import type { ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextIteration, setTimeout as wait } from 'node:timers/promises'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import { rawSocketOf } from './raw-socket.ts'

/** Closes a server in two steps without failed requests. */
export type GracefulClose = {
  /** Adds `Connection: close` to every response from now on. The server still accepts connections. */
  announce(): void
  /**
   * Accepts the connections in the queue of the system, and then stops accepting. Waits for active requests and closes
   * idle connections.
   * @returns the number of connections closed by force at the end of `graceMs`.
   */
  finish(options: FinishOptions): Promise<number>
}

export type FinishOptions = {
  /**
   * Time after which the server closes all remaining connections, because event streams can stay open. Milliseconds.
   */
  readonly graceMs: number
  /** A connection without received bytes for this time is idle. Minimum and default: 200. Milliseconds. */
  readonly quietMs?: number
  /**
   * Accepts at least one connection if the queue of the system has connections. Resolves when this server has received
   * the connection. Default: one iteration of the event loop of this process.
   */
  readonly pollListener?: (() => Promise<unknown>) | undefined
}

/** Interval between two checks of the open connections during shutdown. Milliseconds. */
const POLL_INTERVAL_MS = 25
/**
 * Maximum idle time that counts between two checks. While a machine is suspended, clients cannot send data. The time of
 * the suspension must therefore not count as idle time. Milliseconds.
 */
const MAX_POLL_MS = 50
/**
 * The server closes a connection only after this idle time. This time is longer than data takes to arrive.
 * Milliseconds.
 */
const QUIET_MS = 200
/**
 * The server closes a connection in a TLS handshake only after this idle time, which is longer than one round trip.
 * Milliseconds.
 */
const HANDSHAKE_QUIET_MS = 2_000

/** Maximum length of the queue of the system: the backlog of Node.js, and one connection that Linux adds. */
const MAX_QUEUED = 512

type Watched = { readonly bytesRead: number; quietMs: number }

/**
 * Tracks a server's connections, so that closing waits only for requests. Node's own `close` resets idle connections
 * immediately, even when a request is in transit. `close` then waits more than a minute for connections without any
 * request, which clients open in advance.
 */
export function gracefulClose(
  server: NetServer,
  { isBusy, announce: announceClose }: CloseRules = HTTP1_RULES,
): GracefulClose {
  const open = new Set<Socket>()
  const handshaking = new Set<Socket>()
  const trackWhileOpen = (sockets: Set<Socket>, socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  if (server instanceof TlsServer) {
    server.on('connection', (socket) => trackWhileOpen(handshaking, socket))
    server.on('secureConnection', (socket: TLSSocket) => {
      handshaking.delete(rawSocketOf(socket) as Socket)
      trackWhileOpen(open, socket)
    })
  } else server.on('connection', (socket) => trackWhileOpen(open, socket))
  let announced = false

  function announce(): void {
    if (announced) return
    announced = true
    announceClose(server)
  }

  return {
    announce,
    async finish({ graceMs, quietMs = QUIET_MS, pollListener = nextIteration }) {
      announce()
      const grace = new AbortController()
      const timedOut = wait(graceMs, true, { signal: grace.signal }).catch(() => false)
      const closed = Promise.race([acceptQueued(server, pollListener), timedOut]).then(
        () => new Promise((resolve) => NetServer.prototype.close.call(server, resolve)),
      )
      const watched = new Map<Socket, Watched>()
      let polledMs = performance.now()
      const timer = setInterval(() => {
        const nowMs = performance.now()
        const passedMs = Math.min(nowMs - polledMs, MAX_POLL_MS)
        polledMs = nowMs
        closeQuiet(open, watched, { passedMs, quietMs: Math.max(quietMs, QUIET_MS), isBusy })
        const handshakeMs = Math.max(quietMs, HANDSHAKE_QUIET_MS)
        closeQuiet(handshaking, watched, { passedMs, quietMs: handshakeMs, isBusy: isNeverBusy })
      }, POLL_INTERVAL_MS)
      const isLate = await Promise.race([closed.then(() => false), timedOut])
      grace.abort()
      clearInterval(timer)
      if (!isLate) return 0
      const cut = open.size
      for (const socket of [...open, ...handshaking]) socket.destroy()
      await closed
      return cut
    },
  }
}

/**
 * Waits until the server has accepted the connections in the queue of the system, because the close of the listener
 * resets these connections. A client can already have sent a request. In each iteration of the event loop, libuv accepts
 * one connection (https://github.com/libuv/libuv/pull/3696). The queue is empty after a poll without a connection.
 */
async function acceptQueued(server: NetServer, pollListener: () => Promise<unknown>): Promise<void> {
  let accepted = 0
  const count = (): void => void accepted++
  server.on('connection', count)
  await pollListener() // the current iteration can have polled the listener before this call
  for (let before = -1; accepted > before && accepted < MAX_QUEUED; await pollListener()) before = accepted
  server.off('connection', count)
}

type SocketPredicate = (socket: Socket) => boolean

/** The parts of closing that depend on the protocol of a server. */
export type CloseRules = {
  /** Returns whether a request of this connection is in progress. */
  readonly isBusy: SocketPredicate
  /** Asks the clients of the server to open no further request on their connection. */
  readonly announce: (server: NetServer) => void
}

/** A connection in a TLS handshake is never busy, because a client sends requests only after the handshake. */
const isNeverBusy: SocketPredicate = () => false

/** Elapsed time since the last check, and the time without data after which a connection is closed. */
type IdleCheck = { readonly passedMs: number; readonly quietMs: number; readonly isBusy: SocketPredicate }

function closeQuiet(open: ReadonlySet<Socket>, watched: Map<Socket, Watched>, check: IdleCheck): void {
  for (const socket of open) {
    const known = watched.get(socket)
    if (known === undefined || known.bytesRead !== socket.bytesRead || check.isBusy(socket)) {
      watched.set(socket, { bytesRead: socket.bytesRead, quietMs: 0 })
      continue
    }
    known.quietMs += check.passedMs
    if (known.quietMs >= check.quietMs) closeUnlessReceived(socket, known.bytesRead, check.isBusy)
  }
}

/**
 * Closes a connection. Does not close the connection if Node first reads data that has already arrived, such as a
 * request.
 */
function closeUnlessReceived(socket: Socket, bytesRead: number, isBusy: SocketPredicate): void {
  setImmediate(() => {
    if (socket.bytesRead === bytesRead && !isBusy(socket)) socket.destroy()
  })
}

export const HTTP1_RULES: CloseRules = { isBusy: isHttp1Busy, announce: announceHttp1Close }

/** Node then writes `Connection: close` into each response. RFC 9112 section 9.6. */
function announceHttp1Close(server: NetServer): void {
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    server.prependListener(event, (_request, response: ServerResponse) => {
      response.shouldKeepAlive = false
    })
}

/** Returns true while a response is in progress, or when the connection is upgraded and no longer HTTP. */
function isHttp1Busy(socket: Socket): boolean {
  const { _httpMessage, parser } = socket as Socket & { _httpMessage?: unknown; parser?: unknown }
  return (_httpMessage !== undefined && _httpMessage !== null) || parser === null || parser === undefined
}
