import { hash } from 'node:crypto'
import type { SharedRedis, UnavailableReason } from '../../platform/redis/shared-redis.ts'
import type { RateLimit, RateLimitState } from '../../policy-engine/format/rate-limit.ts'
import { allowance, type LocalLimiter } from './local-limiter.ts'

/** Why Redis did not decide. A metric label, so a closed list. */
export type FallbackReason = UnavailableReason | 'failed'

/** Where requests are counted for all gateways together, and where when that is away. */
export type SharedLimiterOptions = {
  readonly shared: SharedRedis
  readonly local: LocalLimiter
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Counts decisions that were made here because Redis did not. */
  readonly onFallback: (reason: FallbackReason) => void
}

/** Says whether one more request is within its limit. */
export type SharedLimiter = {
  /** At once when it is known here already or Redis is away, else after one round trip. Never rejects. */
  take(limit: RateLimit, key: string): RateLimitState | Promise<RateLimitState>
}

/** Keys are hashes: they hold client ids, subjects and addresses, and callers choose their length. */
const KEY_PREFIX = 'scopegate:rate:'
const KEY_HASH_CHARACTERS = 27 // 162 bits

/**
 * The same algorithm as in local-limiter.ts, in microseconds of Redis' own clock, so that replicas need not agree on the
 * time. Nobody can be further ahead than `per`: that heals a clock that was set back.
 * KEYS: the account. ARGV: interval, per. Gives: allowed, microseconds until all is earned back, microseconds to wait.
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
const SCRIPT_HASH = hash('sha1', SCRIPT)

/**
 * Counts requests in Redis, together with every other process that does. When Redis is away, slow or broken, this process
 * counts for itself: a caller then gets at most the whole limit from each process. What Redis said is kept in mind, so
 * counting goes on from there, and a caller that it refused is refused here until the time is over.
 */
export function createSharedLimiter(options: SharedLimiterOptions): SharedLimiter {
  const { shared, local, tickMs, onFallback } = options

  function fallBack(reason: FallbackReason, limit: RateLimit, key: string): RateLimitState {
    onFallback(reason)
    return local.take(limit, key, tickMs())
  }

  async function ask(limit: RateLimit, key: string): Promise<RateLimitState> {
    let answer: readonly [number, number, number]
    try {
      answer = await run(shared.redis, key, limit)
    } catch {
      shared.failed()
      return fallBack('failed', limit, key)
    }
    shared.succeeded()
    const [allowed, resetUs, retryAfterUs] = answer
    const resetMs = resetUs / 1_000
    local.note(key, resetMs, tickMs())
    if (allowed === 1) return allowance(limit, resetMs)
    return { allowed: false, remaining: 0, resetMs, retryAfterMs: retryAfterUs / 1_000 }
  }

  return {
    take(limit, key) {
      const nowMs = tickMs()
      const known = local.refusalOf(limit, key, nowMs)
      if (known !== undefined) return known
      const reason = shared.unavailableReason()
      return reason === undefined ? ask(limit, key) : fallBack(reason, limit, key)
    },
  }
}

async function run(
  redis: SharedRedis['redis'],
  key: string,
  limit: RateLimit,
): Promise<readonly [number, number, number]> {
  const redisKey = KEY_PREFIX + hash('sha256', key, 'base64url').slice(0, KEY_HASH_CHARACTERS)
  const intervalUs = limit.intervalMs * 1_000
  const perUs = limit.perMs * 1_000
  try {
    return readAnswer(await redis.evalsha(SCRIPT_HASH, 1, redisKey, intervalUs, perUs))
  } catch (error) {
    // After a restart Redis has forgotten the script; nothing ran.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return readAnswer(await redis.eval(SCRIPT, 1, redisKey, intervalUs, perUs))
  }
}

function readAnswer(answer: unknown): readonly [number, number, number] {
  if (!Array.isArray(answer) || answer.length !== 3) throw new Error('Redis answered something else')
  return [Number(answer[0]), Number(answer[1]), Number(answer[2])]
}
