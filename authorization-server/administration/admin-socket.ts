import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import type { Logger } from '../../platform/logging/logger.ts'
import { NO_SCHEMA_COMPILERS } from '../../platform/net/no-schema-compilers.ts'
import { makeFolder } from '../../platform/process/make-folder.ts'
import { StoreError } from '../store/store.ts'
import type { Administration, AdministrationResult } from './administration.ts'
import { adminFolder, findForeignControl, socketName } from './socket-path.ts'

const BODY_LIMIT_BYTES = 16 * 1_024
/** Mask of the file mode: only the owner can connect. */
const OWNER_ONLY_MASK = 0o177
/** Maximum length of the path of a socket. Source: unix(7), `sun_path`. Bytes. */
const LONGEST_PATH_BYTES = 107

/**
 * Opens the socket for the commands of the operator: `POST /<noun>/<verb>` with a JSON object. Only the user of this
 * process can connect, because the socket belongs to this user. If the data folder cannot contain a socket, logs a
 * warning, and the commands do not work with this server.
 */
export async function openAdminSocket(options: {
  readonly dataDir: string
  readonly port: number
  readonly administration: Administration
  readonly logger: Pick<Logger, 'warn' | 'error'>
}): Promise<{ close(): Promise<void> }> {
  const { dataDir, port, administration, logger } = options
  const folder = adminFolder(dataDir)
  const path = join(folder, socketName(`${hostname()}:${port}`, process.pid))
  const app = Fastify({ logger: false, schemaController: NO_SCHEMA_COMPILERS, bodyLimit: BODY_LIMIT_BYTES })
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const { statusCode = 500 } = error
    if (statusCode < 500) return reply.code(statusCode).send(INVALID)
    if (error instanceof StoreError) return reply.code(503).send(STORE_FAILED)
    logger.error({ event: 'administration_error', err: error }, 'a command of the operator failed')
    return reply.code(500).send(FAILED)
  })
  app.post<{ Params: { noun: string; verb: string } }>('/:noun/:verb', async (request, reply) => {
    const { noun, verb } = request.params
    const result = await administration(`${noun} ${verb}`, request.body)
    return 'done' in result ? result.done : reply.code(STATUS[result.rejected]).send(toError(result))
  })
  try {
    if (Buffer.byteLength(path) > LONGEST_PATH_BYTES)
      throw new Error(`the path ${path} is longer than ${LONGEST_PATH_BYTES} bytes`)
    makeFolder(folder)
    requireOwnControl(folder)
    await app.ready()
    // A socket with the name of this process is from an earlier process with the same id.
    rmSync(path, { force: true })
    await listenForOwner(app.server, path)
  } catch (cause) {
    await app.close()
    logger.warn(
      { event: 'admin_socket_unavailable', path, err: cause },
      'the commands `scopegate account`, `client`, `grant` and `session` do not work with this server: the socket cannot be opened (see err). Set dataDir to a shorter path or a writable folder, or remove the folder admin in dataDir',
    )
    return { close: async () => undefined }
  }
  return {
    close: async () => {
      app.server.close()
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

function requireOwnControl(folder: string): void {
  const user = process.getuid?.()
  const fault = user === undefined ? undefined : findForeignControl(lstatSync(folder), [0, user])
  if (fault !== undefined) throw new Error(`the folder ${folder} ${fault}`)
}

/** Listens on a socket that only the owner can open. `listen()` creates the socket before it returns. */
async function listenForOwner(server: Server, path: string): Promise<void> {
  const mask = process.umask(OWNER_ONLY_MASK)
  server.listen(path)
  process.umask(mask)
  await once(server, 'listening')
}

const STATUS = { unknown_action: 404, not_found: 404, invalid_request: 400, not_allowed: 409 } as const

function toError(result: Exclude<AdministrationResult, { done: object }>) {
  return { error: result.rejected, error_description: result.message }
}

const INVALID = {
  error: 'invalid_request',
  error_description: 'Send a JSON object of at most 16 KiB as application/json.',
}
const STORE_FAILED = {
  error: 'temporarily_unavailable',
  error_description:
    'The store of the authorization server does not respond. The outcome of the command is unknown. Repeat the command when the store works again.',
}
const FAILED = {
  error: 'server_error',
  error_description: 'Internal error. See the log of the authorization server.',
}
