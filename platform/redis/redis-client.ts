import type { Cluster, Redis } from 'ioredis'
import type { Logger } from '../logging/logger.ts'
import type { RedisConnection, RedisSetting } from './redis-connection.ts'

/** A client of one server or of a Redis Cluster. The server has a fixed URL, or is the current primary of Sentinels. */
export type RedisClient = Redis | Cluster

export type ConnectOptions = RedisConnection & {
  /** Name of the connection in messages. Default: `redis`. */
  readonly setting?: RedisSetting
  readonly logger?: Pick<Logger, 'warn' | 'info'>
  /** Longest wait for a response. Milliseconds. */
  readonly commandTimeoutMs?: number
  /** Redis is optional: the process starts without Redis and connects when Redis is available. */
  readonly mayBeAway?: boolean
}

export const CONNECT_TIMEOUT_MS = 2_000
export const COMMAND_TIMEOUT_MS = 1_000 // a Redis that does not respond must not delay requests for longer
export const HANDSHAKE_TIMEOUT_MS = 1_000 // commandTimeoutMs can be too short for a starting process, which is busy
export const SILENCE_MS = 2_000 // closes a connection on which Redis sends nothing
/** Maximum delay before a client connects again after a failover. Milliseconds. */
export const RECONNECT_FAILOVER_MS = 500
const LONGEST_JITTER_MS = 200

/** Returns the random part of a delay, which spreads the attempts of many processes over time. Milliseconds. */
export function jitterMs(): number {
  return Math.random() * LONGEST_JITTER_MS
}
