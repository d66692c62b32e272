import { hash } from 'node:crypto'

/** Names of the administration sockets in the data folder. Several servers can share the folder. */
export const ADMIN_SOCKET = /^admin-[0-9a-f]{8}-[0-9]+\.sock$/

/**
 * Returns the name of the socket of a server. Host and port are hashed, because the path of a socket must be short.
 * @param server host and port of the server.
 */
export function socketName(server: string, pid: number): string {
  return `admin-${hash('sha256', server, 'hex').slice(0, 8)}-${pid}.sock`
}
