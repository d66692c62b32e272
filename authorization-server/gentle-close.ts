import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const CLOSE_IDLE_EVERY_MS = 50

/**
 * Watches a server's connections so that closing it waits for requests and for nothing else. Node closes what is idle
 * when closing begins; it keeps connections whose answer ends later until their keep-alive is over, and those that
 * never carried a request, which clients open in advance, for as long.
 * @returns a function that closes: `close` must stop the server from accepting and resolve when all is done.
 */
export function watchConnections(server: Server): (close: () => PromiseLike<unknown>) => Promise<void> {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  const closeIdle = (): void => {
    server.closeIdleConnections()
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
  return async (close) => {
    const closed = close()
    const timer = setInterval(closeIdle, CLOSE_IDLE_EVERY_MS)
    try {
      await closed
    } finally {
      clearInterval(timer)
    }
  }
}
