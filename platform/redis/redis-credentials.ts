import { readFileSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'
import type { Redis } from 'ioredis'
import { BootError } from '../diagnostics/boot-error.ts'
import { findFileFaults, firstLine } from './check-connection.ts'
import type { RedisConnection, RedisSetting } from './redis-connection.ts'

/** The current credentials of a connection. Each access reads the files again. */
export type RedisCredentials = {
  readonly username?: string
  readonly password?: string
  readonly tls?: SecureContextOptions
  readonly sentinelUsername?: string
  readonly sentinelPassword?: string
  readonly sentinelTLS?: SecureContextOptions
}

/**
 * Reads the files of a connection at each access. If a file cannot be read, the last content applies, because another
 * program may be replacing the file.
 * @throws {BootError} ERR_REDIS_FILE when a file cannot be used at start.
 */
export function openRedisCredentials(connection: RedisConnection, setting: RedisSetting): RedisCredentials {
  const [fault] = findFileFaults(connection, setting)
  if (fault !== undefined)
    throw new BootError('ERR_REDIS_FILE', `${fault.message}: ${fault.hint}.`, { exitCode: 3 })
  const { sentinel, tls, username } = connection
  const open = (file: string | undefined) => (file === undefined ? undefined : openFile(file))
  const password = open(connection.passwordFile)
  const sentinelPassword = open(sentinel?.passwordFile)
  const ca = open(tls?.caFile)
  const cert = open(tls?.certFile)
  const key = open(tls?.keyFile)
  const readTls = (): SecureContextOptions => ({
    ...(ca === undefined ? {} : { ca: ca() }),
    ...(cert === undefined ? {} : { cert: cert() }),
    ...(key === undefined ? {} : { key: key() }),
  })
  const credentials: RedisCredentials = {}
  const define = (name: keyof RedisCredentials, get: (() => unknown) | undefined): void => {
    if (get !== undefined)
      Object.defineProperty(credentials, name, { get, enumerable: true, configurable: true })
  }
  define('username', username === undefined ? undefined : () => username)
  define('password', password && (() => firstLine(password())))
  define('tls', tls && readTls)
  define('sentinelUsername', sentinel?.username === undefined ? undefined : () => sentinel.username)
  define('sentinelPassword', sentinelPassword && (() => firstLine(sentinelPassword())))
  define('sentinelTLS', sentinel && tls && readTls)
  return credentials
}

/** Makes a client use the current credentials for each new connection. */
export function useCredentials(redis: Redis, credentials: RedisCredentials): void {
  Object.defineProperties(redis.options, Object.getOwnPropertyDescriptors(credentials))
}

function openFile(file: string): () => string {
  let last = readFileSync(file, 'utf8')
  return () => {
    try {
      last = readFileSync(file, 'utf8')
    } catch {
      // The last content stays in use.
    }
    return last
  }
}
