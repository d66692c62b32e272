import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  ADMIN_SOCKET,
  adminFolder,
  findForeignControl,
} from '../../../authorization-server/administration/socket-path.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { visibleText } from '../../../platform/diagnostics/visible-text.ts'

/**
 * Finds the administration sockets of the servers with a data folder. A user who controls a socket could receive the
 * commands and passwords of the operator, and respond in place of the server.
 * @throws {BootError} ERR_UNSAFE_SOCKET if another user controls a socket or its folder.
 */
export function findSockets(dataDir: string): readonly string[] {
  const folder = adminFolder(dataDir)
  try {
    const paths = readdirSync(folder)
      .filter((name) => ADMIN_SOCKET.test(name))
      .map((name) => join(folder, name))
    if (paths.length > 0) for (const path of [folder, ...paths]) requireOwnControl(path, dataDir)
    return paths
  } catch (error) {
    if (error instanceof BootError) throw error
    return [] // the folder is missing or belongs to another user, or a server removed its socket
  }
}

function requireOwnControl(path: string, dataDir: string): void {
  const user = process.getuid?.()
  if (user === undefined) return
  // root can administer the server of another user. This user owns the data folder.
  const trusted = user === 0 ? [0, statSync(dataDir).uid] : [0, user]
  const fault = findForeignControl(lstatSync(path), trusted)
  if (fault === undefined) return
  throw new BootError(
    'ERR_UNSAFE_SOCKET',
    `scopegate: ${visibleText(path)} ${fault}. The command did not connect, because the socket may not belong to the authorization server. Run the command as the user of the server. If you do so already, remove the folder ${visibleText(adminFolder(dataDir))}, and restart the server.`,
    { exitCode: 3 },
  )
}
