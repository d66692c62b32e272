import { hashId } from './artifact-record.ts'
import { attemptRedis, REDIS_KEYS } from './redis.ts'
import type { ScriptedRedis } from './redis-scripts.ts'
import { type AttemptCounter, type AttemptCounters, type FullCounter, MAX_ATTEMPT_COUNTERS } from './store.ts'

/** Creates the attempt counters in Redis. All counters have one hash tag, because a script uses several counters. */
export function redisAttempts(redis: ScriptedRedis): AttemptCounters {
  const run = async (
    counters: readonly AttemptCounter[],
    isCounted: boolean,
    windowSeconds: number,
  ): Promise<FullCounter | undefined> => {
    const keys = [REDIS_KEYS.attemptCounters, ...counters.map(({ id }) => REDIS_KEYS.attempts(hashId(id)))]
    const limits = counters.map(({ limit }) => limit)
    const args = [isCounted ? 1 : 0, windowSeconds, MAX_ATTEMPT_COUNTERS, ...limits]
    const found = await attemptRedis(() => redis.countAttempt(keys.length, ...keys, ...args))
    const [place, leftMs, isFirst] = found as readonly number[]
    const counter = place === undefined ? undefined : counters[place]
    return (
      counter && { id: counter.id, endsInSeconds: Math.ceil(Number(leftMs) / 1_000), isFirst: isFirst === 1 }
    )
  }
  return {
    check: (counters) => run(counters, false, 0),
    add: (counters, windowSeconds) => run(counters, true, windowSeconds),
    release: async ({ removed, reduced }) => {
      const keys = [removed, reduced].map((id) => REDIS_KEYS.attempts(hashId(id)))
      await attemptRedis(() => redis.releaseAttempt(REDIS_KEYS.attemptCounters, ...keys))
    },
  }
}
