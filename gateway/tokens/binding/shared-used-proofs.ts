import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { isReplyError, replyCode } from '../../../platform/redis/is-reply-error.ts'
import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'

export type SharedUsedProofsOptions = {
  readonly shared: Pick<SharedRedis, 'send'>
  /** Called for each proof that only this process records. */
  readonly onAlone: () => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly failures: Pick<FailureLog, 'failed'>
  /** Maximum wait for Redis. Default: 1 s. Milliseconds. */
  readonly timeoutMs?: number
}

const KEY_PREFIX = 'scopegate:dpop:'
/**
 * Additional storage time of a proof in Redis. A gateway whose clock is behind accepts a proof for longer.
 * Milliseconds.
 */
const CLOCKS_DIFFER_MS = 60_000
/**
 * Maximum wait for Redis. Other features wait only 75 ms for Redis, because without Redis these features only become
 * less accurate. Without Redis, proofs are protected against replays only within one process, so this wait is longer. A
 * retry would not help, because Redis processes the commands of a connection in order. Milliseconds.
 */
const REDIS_TIMEOUT_MS = 1_000

const NOT_STORED = {
  event: 'dpop_proof_not_stored',
  message: 'Redis did not store a used DPoP proof: only this process detects its replay',
}

/**
 * Creates a store that records used proofs in Redis, for all gateways, and in this process. While Redis is unavailable,
 * each process accepts a proof that this process has not recorded. Without a connection, Redis counts as unavailable.
 * If a response is late, Redis counts as unavailable until that response arrives. After an error reply from Redis, only
 * this process records the proof. The next proof goes to Redis again.
 */
export function createSharedUsedProofs(options: SharedUsedProofsOptions): UsedProofs {
  const { shared, onAlone, logger, failures, timeoutMs = REDIS_TIMEOUT_MS } = options
  const local = createUsedProofs()
  let overdue = 0
  let isAlone = false

  function useAlone(): true {
    onAlone()
    if (!isAlone)
      logger.warn(
        { event: 'dpop_replays_local' },
        'Redis is unavailable: each process detects DPoP replays separately',
      )
    isAlone = true
    return true
  }

  /**
   * Logs that Redis did not store a proof, and the reason. `OOM`: Redis is full. `READONLY`: this Redis is a replica.
   */
  function notStored(error: Error): true {
    onAlone()
    failures.failed({ ...NOT_STORED, fields: { reason: replyCode(error) } }, error)
    return true
  }

  /**
   * Records the use of a proof in Redis. Returns whether this is the first use of the proof, or the error reply of
   * Redis. Returns undefined if Redis does not respond in time.
   */
  function claim(id: string, ttlMs: number): Promise<boolean | Error | undefined> {
    return new Promise((resolve) => {
      let state: 'waiting' | 'overdue' | 'settled' = 'waiting'
      const giveUp = (): void => {
        if (state !== 'waiting') return
        state = 'overdue'
        overdue += 1
        resolve(undefined)
      }
      // After a stall of the event loop, timers run before Node reads the responses. The callback of setImmediate()
      // runs after Node has read the responses, so a response that has already arrived still counts.
      const timer = setTimeout(() => setImmediate(giveUp), timeoutMs)
      const settle = (outcome: boolean | Error | undefined): void => {
        clearTimeout(timer)
        if (state === 'overdue') overdue -= 1
        state = 'settled'
        resolve(outcome)
      }
      shared.send('set', [KEY_PREFIX + id, '1', 'PX', ttlMs, 'NX']).then(
        (reply) => settle(reply === 'OK'),
        (error: unknown) => settle(isReplyError(error) ? error : undefined),
      )
    })
  }

  async function useShared(id: string, ttlMs: number): Promise<boolean> {
    const outcome = await claim(id, ttlMs)
    if (outcome === undefined) return useAlone()
    if (outcome instanceof Error) return notStored(outcome)
    if (isAlone)
      logger.info(
        { event: 'dpop_replays_shared' },
        'Redis is available again: all gateways share used DPoP proofs',
      )
    isAlone = false
    return outcome
  }

  return {
    use(id, expiresAtSeconds, nowSeconds) {
      if (!local.use(id, expiresAtSeconds, nowSeconds)) return false
      if (overdue > 0) return useAlone()
      const ttlMs = Math.ceil((expiresAtSeconds - nowSeconds) * 1_000) + CLOCKS_DIFFER_MS
      return useShared(id, ttlMs)
    },
    get size() {
      return local.size
    },
  }
}
