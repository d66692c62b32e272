import { join } from 'node:path'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { RedisConnection } from '../../platform/redis/redis-connection.ts'
import { followLongestLifetime } from './longest-lifetime.ts'
import type { PostgresConnection } from './postgres-connection.ts'
import { openPostgresStore } from './postgres-store.ts'
import { openRedisStore, type RedisStoreOptions } from './redis-store.ts'
import { openSqliteStore } from './sqlite-store.ts'
import type { Store } from './store.ts'

/** Configuration of the store: its type and location, the issuer of the tokens, and the lifetime of access tokens. */
export type StoreConfig = {
  readonly issuer: string
  readonly lifetimes: { readonly accessTokenSeconds: number }
  readonly store: { readonly type: 'sqlite' | 'redis' | 'postgres' }
  readonly dataDir: string
  readonly redis: RedisConnection | undefined
  readonly postgres?: PostgresConnection | undefined
}

export const SQLITE_FILE_NAME = 'authorization-server.sqlite'

/**
 * Opens the configured store.
 * @throws {BootError} when the store cannot be used. The message says what happened, where, and what to do.
 */
export async function openStore(
  config: StoreConfig,
  {
    nowSeconds,
    logger,
  }: { readonly nowSeconds: () => number; readonly logger?: Pick<Logger, 'warn' | 'info'> },
): Promise<Store> {
  const options = {
    nowSeconds,
    issuer: config.issuer,
    accessTokenSeconds: config.lifetimes.accessTokenSeconds,
    ...(logger === undefined ? {} : { logger }),
  }
  return followLongestLifetime(await openConfigured(config, options), options)
}

function openConfigured(config: StoreConfig, options: RedisStoreOptions): Store | Promise<Store> {
  switch (config.store.type) {
    case 'sqlite':
      return openSqliteStore(join(config.dataDir, SQLITE_FILE_NAME), options)
    case 'redis': {
      if (config.redis !== undefined) return openRedisStore(config.redis, options)
      throw new BootError(
        'ERR_REDIS_URL',
        'store.type is redis, but redis is not set. Set redis.url (REDIS_URL), redis.sentinel or redis.cluster, or use store.type: sqlite.',
        { exitCode: 3 },
      )
    }
    case 'postgres': {
      if (config.postgres !== undefined) return openPostgresStore(config.postgres, options)
      throw new BootError(
        'ERR_POSTGRES_URL',
        'store.type is postgres, but postgres.url (SCOPEGATE_POSTGRES__URL) is not set. Set postgres.url, or use store.type: sqlite.',
        { exitCode: 3 },
      )
    }
  }
}
