import type { Redis } from 'ioredis'
import { BootError } from './boot-error.ts'
import type { Logger } from './logger.ts'

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 1_000 // a stuck Redis must not hold requests
const HANDSHAKE_TIMEOUT_MS = 1_000 // a process that starts is busy, and commandTimeoutMs may be shorter
const SILENCE_MS = 2_000 // a connection that gives no answer at all is given up
const RECONNECT_MIN_MS = 2_000 // a gateway has two connections: together one attempt per second
const RECONNECT_MAX_MS = 10_000

/**
 * Connects to one Redis. While the connection is away commands fail at once instead of queueing, and it comes back
 * by itself; commands that were under way are not sent twice.
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
  // Whoever has no Redis need not load its client.
  const { Redis: Client } = await import('ioredis')
  const redis = new Client(options.url, {
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: HANDSHAKE_TIMEOUT_MS,
    ...(mayBeAway ? { socketTimeout: SILENCE_MS } : {}),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: mayBeAway ? reconnectDelayMs : () => null,
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
  reconnectFromNowOn(redis, where, options.logger)
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
  where: string,
  logger: Pick<Logger, 'warn' | 'info'> | undefined,
): void {
  redis.options.retryStrategy = reconnectDelayMs
  let away = redis.status !== 'ready'
  redis.on('close', () => {
    if (away) return
    away = true
    logger?.warn({ event: 'redis_lost', redis: where }, 'redis connection lost')
  })
  redis.on('ready', () => {
    away = false
    logger?.info({ event: 'redis_back', redis: where }, 'redis connection is back')
  })
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
