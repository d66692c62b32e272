import type { Redis } from 'ioredis'
import type { Logger } from '../logging/logger.ts'
import { connectCluster } from './cluster.ts'
import { loadIoredis } from './load-ioredis.ts'
import {
  COMMAND_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  type ConnectOptions,
  HANDSHAKE_TIMEOUT_MS,
  jitterMs,
  RECONNECT_FAILOVER_MS,
  type RedisClient,
  SILENCE_MS,
} from './redis-client.ts'
import { parseAddress } from './redis-connection.ts'
import { openRedisCredentials, useCredentials } from './redis-credentials.ts'
import { type ConnectionName, explainFailure, isTemporary, nameConnection } from './redis-failure.ts'

const RECONNECT_MS = 1_000
const RECONNECT_OPTIONAL_MS = 2_000 // a gateway has two connections, so it makes one attempt per second

/** Delay of the first attempt after this client closed the connection. The server may accept a new connection soon. */
const RECONNECT_SOON_MS = 50

/** Minimum time between two disconnections from a replica. Milliseconds. */
const LEAVE_REPLICA_EVERY_MS = 2_000

/** Keys of every layout begin with this hash tag or have a tag that begins with the same text. */
const PROBE_KEY = '{scopegate}:schema'

/**
 * Connects to a server, through Sentinels, or to a Redis Cluster.
 * @throws {BootError} the errors of {@link connectRedis}.
 */
export function openRedis(options: ConnectOptions): Promise<RedisClient> {
  return options.cluster === undefined ? connectRedis(options) : connectCluster(options)
}

/**
 * Connects to one Redis. Without a connection, commands fail immediately instead of queueing. The client reconnects
 * automatically and does not resend pending commands. The client also reconnects if the server has become a replica
 * (`READONLY`), or if the Sentinels name another primary. After a failover, the address of the server or a Sentinel
 * leads to the new primary.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_FILE, ERR_REDIS_REFUSED, ERR_REDIS_TLS, ERR_REDIS_SENTINEL,
 * ERR_REDIS_CLUSTER_NODE, and ERR_REDIS_UNREACHABLE unless `mayBeAway`. The messages contain no secret.
 */
export async function connectRedis(options: ConnectOptions): Promise<Redis> {
  const { sentinel, url = '', tls, mayBeAway = false, setting = 'redis' } = options
  const name = nameConnection(options, setting)
  const credentials = openRedisCredentials(options, setting)
  const delayMs = reconnectDelayOf(sentinel !== undefined, mayBeAway)
  const replica = createReplicaExit(() => performance.now())
  const common = {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: HANDSHAKE_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: mayBeAway ? delayMs : () => null,
    reconnectOnError: (error: Error) => replica.mustLeave(error),
  }
  const { Redis: Client } = await loadIoredis()
  const redis: Redis =
    sentinel === undefined
      ? new Client(url, common)
      : new Client({
          ...common,
          name: sentinel.name,
          sentinels: sentinel.addresses.map(parseAddress),
          sentinelRetryStrategy: () => null,
          sentinelCommandTimeout: HANDSHAKE_TIMEOUT_MS,
          enableTLSForSentinelMode: tls !== undefined,
          Connector: await importPrimaryConnector(() => {
            if (redis.status === 'ready') replica.leave()
          }),
        })
  useCredentials(redis, credentials)
  let lastError: unknown
  const keepError = (error: unknown): void => {
    lastError = error
  }
  redis.on('error', keepError)
  // The error of a Sentinel contains the cause. The later error contains only that no Sentinel was usable.
  let sentinelError: unknown
  redis.on('sentinelError', (error: unknown) => {
    sentinelError = error
  })
  try {
    await redis.connect()
    await redis.ping()
    await findOwnSlot(redis)
  } catch (error) {
    const failure = explainFailure(name, sentinelError ?? lastError ?? error)
    if (!mayBeAway || !isTemporary(failure)) {
      redis.disconnect()
      throw failure
    }
    options.logger?.warn(
      { event: 'redis_unreachable', redis: name.where, code: failure.code },
      failure.message,
    )
  }
  useTimeout(redis, options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS)
  reconnectFromNowOn(redis, { name, logger: options.logger, replica, delayMs })
  return redis
}

/**
 * Checks that the server serves the keys.
 * @throws {ReplyError} `MOVED` when the server is a node of a Redis Cluster that does not serve the keys.
 */
async function findOwnSlot(redis: Redis): Promise<void> {
  try {
    await redis.exists(PROBE_KEY)
  } catch (error) {
    // The user of a Redis for volatile data may have no permission for this key.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return
    throw error
  }
}

/** Applies the command timeout after the handshake of each connection. */
function useTimeout(redis: Redis, commandTimeoutMs: number): void {
  redis.on('close', () => {
    redis.options.commandTimeout = HANDSHAKE_TIMEOUT_MS
  })
  redis.on('ready', () => {
    redis.options.commandTimeout = commandTimeoutMs
  })
  if (redis.status === 'ready') redis.options.commandTimeout = commandTimeoutMs
}

/** Retries later connections for the life of the process. The first connection succeeds or fails without a retry. */
function reconnectFromNowOn(
  redis: Redis,
  {
    name: { where },
    logger,
    replica,
    delayMs,
  }: {
    readonly name: ConnectionName
    readonly logger: Pick<Logger, 'warn' | 'info'> | undefined
    readonly replica: ReplicaExit
    readonly delayMs: () => number
  },
): void {
  /** Whether the client closed the connection because Redis sent nothing. Often, Redis responds again soon. */
  let isSilent = false
  redis.on('error', (error) => {
    isSilent = error instanceof Error && error.message.startsWith('Socket timeout')
  })
  redis.options.retryStrategy = (attempt) =>
    attempt === 1 && (isSilent || replica.isLeaving()) ? RECONNECT_SOON_MS : delayMs()
  redis.options.sentinelRetryStrategy = delayMs
  let away = redis.status !== 'ready'
  redis.on('close', () => {
    if (replica.onClose() || away) return
    away = true
    logger?.warn({ event: 'redis_lost', redis: where }, 'redis connection lost')
  })
  redis.on('ready', () => {
    isSilent = false
    if (replica.onReady()) return
    away = false
    logger?.info({ event: 'redis_back', redis: where }, 'redis connection is back')
  })
  // If no Sentinel was usable, the client does not retry its first connection.
  if (redis.status === 'end') redis.connect().catch(() => undefined)
}

/** Loads the module only for a process that uses Sentinels. */
async function importPrimaryConnector(onLeave: () => void) {
  const { definePrimaryConnector } = await import('./primary-connector.ts')
  return definePrimaryConnector(onLeave)
}

/** State of the reconnection after a server has become a replica, or is no longer the primary of the Sentinels. */
type ReplicaExit = {
  /** Records that this client closes the connection. */
  leave(): void
  /** Returns true if the error requires a new connection. */
  mustLeave(error: Error): boolean
  /** Returns true if the next connection attempt replaces a connection to a replica. */
  isLeaving(): boolean
  /** Returns true when this client closed the connection to a replica. A second close in a row is an outage. */
  onClose(): boolean
  /** Returns true when the new connection replaces a connection to a replica. */
  onReady(): boolean
}

function createReplicaExit(nowMs: () => number): ReplicaExit {
  let lastMs = Number.NEGATIVE_INFINITY
  let state: 'stay' | 'close' | 'connect' = 'stay'
  return {
    leave() {
      state = 'close'
    },
    mustLeave(error) {
      // In Redis 6, a script error contains the code in its text.
      if (!error.message.includes('READONLY') || nowMs() - lastMs < LEAVE_REPLICA_EVERY_MS) return false
      lastMs = nowMs()
      state = 'close'
      return true
    },
    isLeaving: () => state !== 'stay',
    onClose() {
      const isLeft = state === 'close'
      state = isLeft ? 'connect' : 'stay'
      return isLeft
    },
    onReady() {
      const isLeft = state === 'connect'
      state = 'stay'
      return isLeft
    },
  }
}

function reconnectDelayOf(hasSentinels: boolean, mayBeAway: boolean): () => number {
  if (hasSentinels) return () => RECONNECT_FAILOVER_MS - jitterMs()
  return () => (mayBeAway ? RECONNECT_OPTIONAL_MS : RECONNECT_MS) + jitterMs()
}
