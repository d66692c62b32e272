import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createServer } from './create-server.ts'
import { families } from './families/families.ts'
import type { Gateway } from './http/identify-callers.ts'
import { seedDatabase } from './seed/seed-database.ts'
import { StartError } from './start-error.ts'
import { openDatabase } from './store/open-database.ts'

export type LearningPlatformOptions = {
  readonly host: string
  /** If 0, the system selects a free port. */
  readonly port: number
  /** The SQLite file. If the file does not exist, the service creates and seeds the file. */
  readonly databasePath: string
  /** Custom logger. Without a custom logger, `logLevel` is the level of the JSON log on standard output. */
  readonly logger?: FastifyBaseLogger
  readonly logLevel?: string
  /** close() waits this long for open requests, in milliseconds. Default: 5000. */
  readonly graceMs?: number
  /** The gateway whose assertions identify callers. Without a gateway, the service trusts the plain x-auth headers. */
  readonly gateway?: Gateway | undefined
}

export type LearningPlatform = { readonly url: string; close(): Promise<void> }

/**
 * Opens the database and starts to listen.
 * @throws {StartError} ERR_DATABASE, ERR_LISTEN. The message tells the operator what to do.
 */
export async function startLearningPlatform(options: LearningPlatformOptions): Promise<LearningPlatform> {
  const { host, port, databasePath, graceMs = 5000 } = options
  const database = openDatabase(databasePath, families, seedDatabase)
  const app = createServer({
    database,
    families,
    nowIso: () => new Date().toISOString(),
    logger: options.logger,
    logLevel: options.logLevel ?? 'silent',
    gateway: options.gateway,
  })
  const close = async () => {
    const graceTimer = setTimeout(() => app.server.closeAllConnections(), graceMs)
    await app.close()
    clearTimeout(graceTimer)
    if (database.isOpen) database.close()
  }
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await close()
    throw explainListenError(cause, host, port)
  }
  const { port: actualPort } = app.server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`, close }
}

function explainListenError(cause: unknown, host: string, port: number): StartError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error'
  const advice: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program uses this port: stop it, or set LEARNING_PLATFORM_PORT to another port',
    EACCES: 'this user must not use this port: set LEARNING_PLATFORM_PORT to a port above 1023',
    EADDRNOTAVAIL:
      'this machine does not have this address: set LEARNING_PLATFORM_HOST to an address of this machine',
    ENOTFOUND: 'this host name is unknown: set LEARNING_PLATFORM_HOST to an address of this machine',
  }
  return new StartError(
    'ERR_LISTEN',
    `The learning platform cannot listen on ${host}:${port}: ${advice[code] ?? code}.`,
    { cause },
  )
}
