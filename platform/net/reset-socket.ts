import type { Socket } from 'node:net'

/**
 * Closes a connection with a TCP reset. While a FIN is pending, the system rejects a reset (EINVAL), and Node would
 * leak the descriptor. In that case, the reset follows as soon as the FIN is sent.
 */
export function resetSocket(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (!isEnding) socket.resetAndDestroy()
  else socket.once('finish', () => socket.resetAndDestroy())
}
