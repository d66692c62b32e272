import { hash } from 'node:crypto'
import type { RedisClient } from '../../platform/redis/redis-client.ts'
import type { SharedRedis, UnavailableReason } from '../../platform/redis/shared-redis.ts'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import { allowance, type LocalLimiter } from './local-limiter.ts'

/** Reason for a rate limit decision without Redis. The reason is a metric label, so the set of values is fixed. */
export type FallbackReason = UnavailableReason | 'failed'

/** Options for `createSharedLimiter()`. `local` counts requests while Redis is unavailable. */
export type SharedLimiterOptions = {
  readonly shared: SharedRedis
  readonly local: LocalLimiter
  readonly tickMs: () => number
  /** Called for each local decision that Redis should have made. */
  readonly onFallback: (reason: FallbackReason) => void
}

export type SharedLimiter = {
  /**
   * Returns a result synchronously if the local state already denies the request, or if Redis is unavailable. Otherwise
   * the function needs one round trip to Redis. Never rejects.
   */
  take(limit: RateLimit, key: string): RateLimitState | Promise<RateLimitState>
}

/**
 * Redis keys contain a hash of the rate limit key, because this key contains client IDs, subjects and addresses. The
 * Redis keys have no hash tag, so a Redis Cluster spreads the keys over its slots.
 */
const KEY_PREFIX = 'scopegate:rate:'
const KEY_HASH_CHARACTERS = 27 // 162 bits

/**
 * The algorithm of local-limiter.ts, in microseconds of the Redis clock, so that replicas do not need synchronized
 * clocks. The used allowance of a key never exceeds `per`, even after the clock of Redis was set back.
 * KEYS: the rate limit key. ARGV: interval, per. Returns: allowed (1 or 0), microseconds until the full allowance is
 * restored, microseconds to wait.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local used = math.min(math.max((tonumber(redis.call('GET', KEYS[1])) or 0) - now, 0), per)
local wait = used + interval - per
if wait > interval * 0.01 then return {0, math.ceil(used), math.ceil(wait)} end
used = used + interval
redis.call('SET', KEYS[1], string.format('%.3f', now + used), 'PX', math.ceil(used / 1000))
return {1, math.ceil(used), 0}
`

/**
 * A Redis client with the script as a command. ioredis sends the hash of the script. If Redis no longer has the script,
 * ioredis sends the text.
 */
type LimiterRedis = RedisClient & {
  takeFromLimit(key: string, intervalUs: number, perUs: number): Promise<unknown>
}

/**
 * Creates a limiter that counts requests in Redis, together with other processes. While Redis is unavailable, slow or
 * failing, this process counts locally. A caller then gets at most the full limit from each process. This process
 * stores results from Redis, and local counting continues from these results. After a denial by Redis, this process
 * denies the caller itself until the end of the wait time. This process sends at most the requests to Redis that its
 * own count allows.
 */
export function createSharedLimiter(options: SharedLimiterOptions): SharedLimiter {
  const { shared, local, tickMs, onFallback } = options
  shared.redis.defineCommand('takeFromLimit', { lua: SCRIPT, numberOfKeys: 1 })
  const redis = shared.redis as LimiterRedis

  /** @param reserved the local result, which applies if Redis has no result. */
  async function takeShared(
    limit: RateLimit,
    key: string,
    reserved: RateLimitState,
  ): Promise<RateLimitState> {
    let reply: readonly [number, number, number]
    try {
      reply = await run(redis, key, limit)
    } catch {
      shared.failed()
      onFallback('failed')
      return reserved
    }
    shared.succeeded()
    const [allowed, resetUs, retryAfterUs] = reply
    const resetMs = resetUs / 1_000
    if (allowed === 1) {
      local.merge(key, resetMs, tickMs())
      return allowance(limit, resetMs)
    }
    // Redis did not count this request, so the reservation ends.
    local.replace(key, resetMs, tickMs())
    return { allowed: false, remaining: 0, resetMs, retryAfterMs: retryAfterUs / 1_000 }
  }

  return {
    take(limit, key) {
      // Counts before the response of Redis. Otherwise all concurrent requests would pass the local check, and count
      // against the other limits of their route.
      const reserved = local.take(limit, key, tickMs())
      if (!reserved.allowed) return reserved
      const reason = shared.unavailableReason()
      if (reason === undefined) return takeShared(limit, key, reserved)
      onFallback(reason)
      return reserved
    },
  }
}

async function run(
  redis: LimiterRedis,
  key: string,
  limit: RateLimit,
): Promise<readonly [number, number, number]> {
  const redisKey = KEY_PREFIX + hash('sha256', key, 'base64url').slice(0, KEY_HASH_CHARACTERS)
  const reply = await redis.takeFromLimit(redisKey, limit.intervalMs * 1_000, limit.perMs * 1_000)
  return parseReply(reply, (limit.perMs + limit.intervalMs) * 1_000 + 1)
}

/** @param maxUs the longest possible time until the full allowance is restored. A longer time would block the caller. */
function parseReply(reply: unknown, maxUs: number): readonly [number, number, number] {
  if (!Array.isArray(reply) || reply.length !== 3) throw unexpectedReply()
  const [allowed, resetUs, retryAfterUs] = reply.map(Number) as [number, number, number]
  const isPossible = [resetUs, retryAfterUs].every((time) => time >= 0 && time <= maxUs)
  if (!isPossible || (allowed !== 0 && allowed !== 1)) throw unexpectedReply()
  return [allowed, resetUs, retryAfterUs]
}

function unexpectedReply(): Error {
  return new Error('unexpected reply from Redis')
}
