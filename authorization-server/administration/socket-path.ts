import { hash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { join } from 'node:path'

/** Names of the administration sockets. Several servers can share the folder. */
export const ADMIN_SOCKET = /^[0-9a-f]{8}-[0-9]+\.sock$/

/** The server creates the folder for its own user. */
export function adminFolder(dataDir: string): string {
  return join(dataDir, 'admin')
}

/**
 * Returns the name of the socket of a server. The name contains a hash of host and port, because the path of a socket
 * must be short.
 * @param server host and port of the server.
 */
export function socketName(server: string, pid: number): string {
  return `${hash('sha256', server, 'hex').slice(0, 8)}-${pid}.sock`
}

/** With these permissions, the group or other users can replace a file in a folder, or connect to a socket. */
const OTHERS_CAN_WRITE = 0o022

/**
 * Finds out whether another user can control a file or folder.
 * @param trusted IDs of the permitted owners.
 * @returns the fault, as the end of a sentence that begins with the path. Returns undefined if no other user has
 * control.
 */
export function findForeignControl(
  { uid, mode }: Pick<Stats, 'uid' | 'mode'>,
  trusted: readonly number[],
): string | undefined {
  if (!trusted.includes(uid)) return `belongs to another user (id ${uid})`
  return (mode & OTHERS_CAN_WRITE) === 0
    ? undefined
    : `is writable for other users (mode ${(mode & 0o777).toString(8)})`
}
