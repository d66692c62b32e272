import { createBoundedCache } from '../../platform/bounded-cache.ts'
import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import { type AttemptCounter, type AttemptCounters, type FullCounter, StoreError } from '../store/store.ts'
import {
  createSignInThrottle,
  pairKey,
  type SignInLimits,
  type ThrottledAttempt,
} from './sign-in-throttle.ts'

/** Limits password guessing over all servers on a store. The methods correspond to those of `SignInThrottle`. */
export type SharedThrottle = {
  check(username: string, address: string): Promise<ThrottledAttempt | undefined>
  attempt(username: string, address: string): Promise<ThrottledAttempt | undefined>
  succeeded(username: string, address: string): Promise<void>
}

/** Maximum number of rejected accounts and addresses in the cache. Uses about 5 MB. */
const MAX_REJECTED = 50_000

/**
 * Creates a throttle that counts in the store. If the store fails, the count of this process applies.
 * The throttle caches each rejection until the end of its window, so further attempts read nothing from the store.
 * @param options.purpose separates the counters of throttles on one store.
 * @param options.counters undefined: the throttle counts only in this process.
 */
export function createSharedThrottle(options: {
  readonly purpose: string
  readonly limits: SignInLimits
  readonly counters: AttemptCounters | undefined
  readonly nowMs: () => number
}): SharedThrottle {
  const { purpose, limits, counters, nowMs } = options
  const local = createSignInThrottle(limits, nowMs)
  if (counters === undefined)
    return {
      check: async (username, address) => local.check(username, address),
      attempt: async (username, address) => local.attempt(username, address),
      succeeded: async (username, address) => local.succeeded(username, address),
    }

  const rejectedUntilMs = createBoundedCache<number>(MAX_REJECTED)
  const idsOf = (username: string, address: string) => ({
    pair: `${purpose} pair ${pairKey(username, address)}`,
    address: `${purpose} address ${ipPrefix(address)}`,
  })
  const findRejected = (username: string, address: string): ThrottledAttempt | undefined => {
    for (const id of Object.values(idsOf(username, address))) {
      const leftMs = (rejectedUntilMs.get(id) ?? 0) - nowMs()
      if (leftMs > 0) return { retryAfterSeconds: Math.ceil(leftMs / 1_000), isFirst: false }
    }
    return undefined
  }
  const ask = async (
    [username, address]: readonly [string, string],
    request: (asked: readonly AttemptCounter[]) => Promise<FullCounter | undefined>,
    ofThisProcess: () => ThrottledAttempt | undefined,
  ): Promise<ThrottledAttempt | undefined> => {
    const ids = idsOf(username, address)
    try {
      const full = await request([
        { id: ids.pair, limit: limits.failuresPerAccount },
        { id: ids.address, limit: limits.failuresPerAddress },
      ])
      if (full === undefined) return undefined
      const { id, endsInSeconds, isFirst } = full
      rejectedUntilMs.set(id, nowMs() + endsInSeconds * 1_000)
      return { retryAfterSeconds: Math.max(1, endsInSeconds), isFirst }
    } catch (error) {
      if (error instanceof StoreError) return ofThisProcess()
      throw error
    }
  }
  return {
    check: async (username, address) =>
      findRejected(username, address) ??
      ask([username, address], counters.check, () => local.check(username, address)),
    attempt: async (username, address) => {
      const rejected = findRejected(username, address)
      if (rejected !== undefined) return rejected
      const ofThisProcess = local.attempt(username, address)
      return ask(
        [username, address],
        (asked) => counters.add(asked, limits.windowMs / 1_000),
        () => ofThisProcess,
      )
    },
    succeeded: async (username, address) => {
      local.succeeded(username, address)
      const ids = idsOf(username, address)
      rejectedUntilMs.delete(ids.address)
      try {
        await counters.release({ removed: ids.pair, reduced: ids.address })
      } catch (error) {
        // A counter that is too high ends with its window. The person has the correct password.
        if (!(error instanceof StoreError)) throw error
      }
    },
  }
}
