import type { Socket } from 'node:net'

/**
 * Ends a connection by a TCP reset. While a FIN is on its way the system refuses a reset (EINVAL), and Node would then
 * keep the descriptor for ever: such a connection is reset as soon as its FIN is out.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (!isEnding) socket.resetAndDestroy()
  else socket.once('finish', () => socket.resetAndDestroy())
}
