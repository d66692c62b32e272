import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type TLSSocket, Server as TlsServer } from 'node:tls'
import { rawSocketOf } from './raw-socket.ts'

/** Ends a server in steps, so that nobody who is being served notices. */
export type GracefulClose = {
  /** From now on every answer says that its connection ends with it; the server goes on accepting. */
  announce(): void
  /**
   * Stops accepting, waits for what is under way and closes connections that are idle.
   * @returns how many connections were cut.
   */
  finish(options: FinishOptions): Promise<number>
}

/** How long others may take until they are cut. */
export type FinishOptions = {
  /** What is still open then is cut: event streams may never end by themselves. Milliseconds. */
  readonly graceMs: number
  /** A connection on which nothing came for so long is idle; at least 200, the default. Milliseconds. */
  readonly quietMs?: number
}

/** Between two looks at what is open while a server ends. Milliseconds. */
export const LOOK_EVERY_MS = 25
/** Of the time between two looks so much counts: on a machine that stood still nobody could send anything. Milliseconds. */
const LONGEST_LOOK_MS = 50
/** What a client has sent takes less to get here. Milliseconds. */
const QUIET_MS = 200
/** Within a TLS handshake there is silence for as long as a message takes to the client and back. Milliseconds. */
const HANDSHAKE_QUIET_MS = 2_000

/** What is known about a connection that may be idle. */
type Watched = { readonly bytesRead: number; quietMs: number }

/**
 * Watches a server's connections so that closing it waits for requests and for nothing else. Node's own `close` resets
 * what is idle at once, also under a request that is on its way, and then waits more than a minute for connections that
 * never carried a request, which clients open in advance.
 */
export function gracefulClose(server: Server): GracefulClose {
  const open = new Set<Socket>()
  const shaking = new Set<Socket>()
  const keepWhileOpen = (sockets: Set<Socket>, socket: Socket): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  if (server instanceof TlsServer) {
    server.on('connection', (socket) => keepWhileOpen(shaking, socket))
    server.on('secureConnection', (socket: TLSSocket) => {
      shaking.delete(rawSocketOf(socket) as Socket)
      keepWhileOpen(open, socket)
    })
  } else server.on('connection', (socket) => keepWhileOpen(open, socket))
  let announced = false

  function announce(): void {
    if (announced) return
    announced = true
    // Node then writes `Connection: close` into the answer. RFC 9112 section 9.6.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.prependListener(event, (_request, response: ServerResponse) => {
        response.shouldKeepAlive = false
      })
  }

  return {
    announce,
    async finish({ graceMs, quietMs = QUIET_MS }) {
      announce()
      const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
      const watched = new Map<Socket, Watched>()
      let lookedMs = performance.now()
      const timer = setInterval(() => {
        const nowMs = performance.now()
        const passedMs = Math.min(nowMs - lookedMs, LONGEST_LOOK_MS)
        lookedMs = nowMs
        closeQuiet(open, watched, { passedMs, quietMs: Math.max(quietMs, QUIET_MS), isBusy })
        const handshakeMs = Math.max(quietMs, HANDSHAKE_QUIET_MS)
        closeQuiet(shaking, watched, { passedMs, quietMs: handshakeMs, isBusy: isNeverBusy })
      }, LOOK_EVERY_MS)
      const grace = new AbortController()
      const timedOut = wait(graceMs, true, { signal: grace.signal }).catch(() => false)
      const isLate = await Promise.race([closed.then(() => false), timedOut])
      grace.abort()
      clearInterval(timer)
      if (!isLate) return 0
      const cut = open.size
      for (const socket of [...open, ...shaking]) socket.destroy()
      await closed
      return cut
    },
  }
}

type Question = (socket: Socket) => boolean

/** Nobody can have asked anything before the end of a handshake. */
const isNeverBusy: Question = () => false

/** How long a connection must have been quiet to be closed, and by how much each is quieter than at the last look. */
type Look = { readonly passedMs: number; readonly quietMs: number; readonly isBusy: Question }

function closeQuiet(open: ReadonlySet<Socket>, watched: Map<Socket, Watched>, look: Look): void {
  for (const socket of open) {
    const known = watched.get(socket)
    if (known === undefined || known.bytesRead !== socket.bytesRead || look.isBusy(socket)) {
      watched.set(socket, { bytesRead: socket.bytesRead, quietMs: 0 })
      continue
    }
    known.quietMs += look.passedMs
    if (known.quietMs >= look.quietMs) closeUnlessSpoken(socket, known.bytesRead, look.isBusy)
  }
}

/** What has arrived already is read before timers run again: a request among it is answered. */
function closeUnlessSpoken(socket: Socket, bytesRead: number, isBusy: Question): void {
  setImmediate(() => {
    if (socket.bytesRead === bytesRead && !isBusy(socket)) socket.destroy()
  })
}

/** An answer is under way, or the connection is no longer one of HTTP but a tunnel. */
function isBusy(socket: Socket): boolean {
  const { _httpMessage, parser } = socket as Socket & { _httpMessage?: unknown; parser?: unknown }
  return (_httpMessage !== undefined && _httpMessage !== null) || parser === null || parser === undefined
}
