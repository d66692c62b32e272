import type { Redis } from 'ioredis'
import { BootError } from '../diagnostics/boot-error.ts'
import type { Logger } from '../logging/logger.ts'

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 1_000 // a stuck Redis must not hold requests
const HANDSHAKE_TIMEOUT_MS = 1_000 // a starting process is busy, and commandTimeoutMs can be too short
const SILENCE_MS = 2_000 // closes a connection on which Redis sends nothing
const RECONNECT_MIN_MS = 2_000 // a gateway has two connections: together one attempt per second
const RECONNECT_MAX_MS = 10_000

/** Shortest time between two reconnections because of a replica. Each reconnection starts after `LEAVE_REPLICA_MS`. */
const LEAVE_REPLICA_EVERY_MS = 2_000
const LEAVE_REPLICA_MS = 50

/**
 * Connects to one Redis. Without a connection, commands fail immediately instead of queueing. The client reconnects
 * automatically and does not resend pending commands. If the server has become a replica (`READONLY`), the client
 * reconnects to the address, which leads to the new primary after a failover.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_REFUSED, and ERR_REDIS_UNREACHABLE unless `mayBeAway`. The messages do
 * not contain the password.
 */
export async function connectRedis(options: {
  readonly url: string
  readonly logger?: Pick<Logger, 'warn' | 'info'>
  /** Longest wait for a response. Milliseconds. */
  readonly commandTimeoutMs?: number
  /** Redis is optional: the process starts without it and connects when Redis is available. */
  readonly mayBeAway?: boolean
}): Promise<Redis> {
  const where = describeRedisUrl(options.url)
  const mayBeAway = options.mayBeAway ?? false
  // Loads the client only for a process that uses Redis.
  const { Redis: Client } = await import('ioredis')
  const replica = createReplicaExit(() => performance.now())
  const redis = new Client(options.url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: HANDSHAKE_TIMEOUT_MS,
    ...(mayBeAway ? { socketTimeout: SILENCE_MS } : {}),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: mayBeAway ? reconnectDelayMs : () => null,
    reconnectOnError: (error) => replica.mustLeave(error),
  })
  let lastError: unknown
  redis.on('error', (error: unknown) => {
    lastError = error
  })
  try {
    await redis.connect()
    await redis.ping()
  } catch (error) {
    const failure = explain(where, lastError ?? error)
    if (!mayBeAway || failure.code !== 'ERR_REDIS_UNREACHABLE') {
      redis.disconnect()
      throw failure
    }
    options.logger?.warn({ event: 'redis_unreachable', redis: where, code: failure.code }, failure.message)
  }
  useTimeout(redis, options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS)
  reconnectFromNowOn(redis, { where, logger: options.logger, replica })
  return redis
}

/**
 * Formats the address of a Redis for logs and messages: host, port and database, never user or password.
 * @throws {BootError} ERR_REDIS_URL when it is not a redis:// or rediss:// address.
 */
export function describeRedisUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new BootError(
      'ERR_REDIS_URL',
      'redis.url (REDIS_URL) is not an address of the form redis://host:6379 or rediss://host:6379.',
      { exitCode: 3 },
    )
  const database = parsed.pathname.length > 1 ? parsed.pathname : ''
  return `${parsed.protocol}//${parsed.hostname}:${parsed.port || '6379'}${database}`
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
    where,
    logger,
    replica,
  }: {
    readonly where: string
    readonly logger: Pick<Logger, 'warn' | 'info'> | undefined
    readonly replica: ReplicaExit
  },
): void {
  redis.options.retryStrategy = (attempt) =>
    attempt === 1 && replica.isLeaving() ? LEAVE_REPLICA_MS : reconnectDelayMs(attempt)
  let away = redis.status !== 'ready'
  redis.on('close', () => {
    if (replica.onClose() || away) return
    away = true
    logger?.warn({ event: 'redis_lost', redis: where }, 'redis connection lost')
  })
  redis.on('ready', () => {
    if (replica.onReady()) return
    away = false
    logger?.info({ event: 'redis_back', redis: where }, 'redis connection is back')
  })
}

/** State of the reconnection after a server has become a replica. */
type ReplicaExit = {
  /** Returns true when the error requires a new connection. */
  mustLeave(error: Error): boolean
  /** Returns true when the next connection attempt replaces a connection to a replica. */
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

function reconnectDelayMs(attempt: number): number {
  return Math.min(RECONNECT_MIN_MS * attempt, RECONNECT_MAX_MS)
}

function explain(where: string, cause: unknown): BootError {
  const reply = cause instanceof Error ? cause.message : String(cause)
  if (/^(NOAUTH|WRONGPASS|ERR AUTH|NOPERM)/.test(reply))
    return new BootError(
      'ERR_REDIS_REFUSED',
      `Redis at ${where} rejected the credentials (${reply.split(' ', 1)[0]}). Check user and password in redis.url (REDIS_URL).`,
      { cause },
    )
  const reason = (cause as NodeJS.ErrnoException).code ?? reply
  return new BootError(
    'ERR_REDIS_UNREACHABLE',
    `Redis at ${where} cannot be reached (${reason}). Start it, or correct redis.url (REDIS_URL).`,
    { cause },
  )
}
