import type { Redis } from 'ioredis'
import { BootError } from '../diagnostics/boot-error.ts'
import type { Logger } from '../logging/logger.ts'

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 1_000 // a stuck Redis must not hold requests
const HANDSHAKE_TIMEOUT_MS = 1_000 // a process that starts is busy, and commandTimeoutMs may be shorter
const SILENCE_MS = 2_000 // a connection that gives no answer at all is given up
const RECONNECT_MIN_MS = 2_000 // a gateway has two connections: together one attempt per second
const RECONNECT_MAX_MS = 10_000

/** A server that became a replica is left at once, and at most once in this time. */
const LEAVE_REPLICA_EVERY_MS = 2_000
const LEAVE_REPLICA_MS = 50

/**
 * Connects to one Redis. While the connection is away commands fail at once instead of queueing, and it comes back
 * by itself; commands that were under way are not sent twice. A server that has become a replica (`READONLY`) is left, and the
 * address is connected to again: after a switch-over it leads to the new primary.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_REFUSED, and ERR_REDIS_UNREACHABLE unless it may be away; none holds the
 * password.
 */
export async function connectRedis(options: {
  readonly url: string
  readonly logger?: Pick<Logger, 'warn' | 'info'>
  /** Longest wait for an answer. Milliseconds. */
  readonly commandTimeoutMs?: number
  /** The process can do without: it starts, and the connection is made when Redis is there. */
  readonly mayBeAway?: boolean
}): Promise<Redis> {
  const where = describeRedisUrl(options.url)
  const mayBeAway = options.mayBeAway ?? false
  // A process without Redis does not load the client.
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
 * Names a Redis for logs and messages: host, port and database, never user or password.
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

/** Applies the timeout of commands to those that follow the handshake of a connection. */
function useTimeout(redis: Redis, commandTimeoutMs: number): void {
  redis.on('close', () => {
    redis.options.commandTimeout = HANDSHAKE_TIMEOUT_MS
  })
  redis.on('ready', () => {
    redis.options.commandTimeout = commandTimeoutMs
  })
  if (redis.status === 'ready') redis.options.commandTimeout = commandTimeoutMs
}

/** The first connection is made or refused at once; later ones are retried for as long as the process lives. */
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

/** Leaves a server that has become a replica. */
type ReplicaExit = {
  /** Whether the connection has to be replaced because of the error. */
  mustLeave(error: Error): boolean
  /** Whether the next attempt to connect replaces the connection to a replica. */
  isLeaving(): boolean
  /** Whether a closed connection is one that was left. A second one in a row is an outage. */
  onClose(): boolean
  /** Whether a new connection replaces one that was left. */
  onReady(): boolean
}

function createReplicaExit(nowMs: () => number): ReplicaExit {
  let lastMs = Number.NEGATIVE_INFINITY
  let state: 'stay' | 'close' | 'connect' = 'stay'
  return {
    mustLeave(error) {
      // Redis 6 wraps the code of an error in a script.
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
      `Redis at ${where} refused the credentials (${reply.split(' ', 1)[0]}). Check user and password in redis.url (REDIS_URL).`,
      { cause },
    )
  const reason = (cause as NodeJS.ErrnoException).code ?? reply
  return new BootError(
    'ERR_REDIS_UNREACHABLE',
    `Redis at ${where} cannot be reached (${reason}). Start it, or correct redis.url (REDIS_URL).`,
    { cause },
  )
}
