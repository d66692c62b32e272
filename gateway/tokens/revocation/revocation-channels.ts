import { setTimeout as pause } from 'node:timers/promises'
import type { Revocation } from '../../../oauth/revocation.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { followRedisRevocations } from '../../../platform/redis/follow-redis-revocations.ts'
import type { RedisFollower } from '../../../platform/redis/follower.ts'
import { isReplyError } from '../../../platform/redis/is-reply-error.ts'
import { relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import type { RedisConnection, RedisSetting } from '../../../platform/redis/redis-connection.ts'
import { publisherKey } from '../../../platform/redis/revocation-keys.ts'
import { extendGap, isInGap, type RevocationGap } from './revocation-gap.ts'
import {
  type RevocationsOptions,
  type RevocationsSubscription,
  subscribeToRevocations,
} from './revocations.ts'

export type RevocationChannelsOptions = {
  readonly issuers: readonly {
    readonly issuer: string
    /**
     * The issuer's own revocation stream. Undefined: the issuer has no stream, or the gateway does not use the stream.
     */
    readonly stream:
      | Pick<RevocationsOptions, 'url' | 'clientId' | 'clientSecret' | 'followedSecret' | 'ca'>
      | undefined
  }[]
  /** The Redis in which authorization servers publish revocations. */
  readonly redis: (RedisConnection & { readonly setting?: RedisSetting }) | undefined
  readonly logger: Logger
  readonly failures: FailureLog
  readonly random: () => number
  readonly tickMs: () => number
  readonly nowSeconds: () => number
}

export type RevocationListener = {
  /** @param issuer sender of the message, for a revocation that names no issuer. */
  readonly onRevoked: (revocations: readonly Revocation[], issuer: string | undefined) => void
  /** Called for each possible revocation gap. */
  readonly onGap: () => void
}

export type RevocationChannels = {
  /**
   * Opens all channels. Called once. Waits a short time for the revocations from before the start of this process.
   * @throws {BootError} by rejection, as `connectRedis` with `mayBeAway`.
   */
  open(listener: RevocationListener): Promise<void>
  /**
   * Returns whether a channel for revocations of the issuer exists, existed, or may exist. Before the first response
   * from Redis, every issuer may have a channel.
   */
  isConfigured(issuer: string): boolean
  isConnected(issuer: string): boolean
  /** Returns the state of each issuer that has, had, or may have a channel. */
  states(): readonly { readonly issuer: string; readonly isConnected: boolean }[]
  /** Returns whether the issuer publishes its revocations in Redis. Redis then has a mark for each revocation. */
  marks(issuer: string): boolean
  /**
   * Returns the time up to which this process has received all revocations of the issuer's tokens with the issue time
   * `issuedAtSeconds`.
   * @param issuedAtSeconds undefined: not known.
   * @returns milliseconds on the monotonic clock; -Infinity: never.
   */
  completeUntilMs(issuer: string, issuedAtSeconds: number | undefined): number
  close(): Promise<void>
}

/**
 * Redis responds every second. If Redis sends nothing for longer than this time, the connection counts as lost.
 * Milliseconds.
 */
const SILENCE_MS = 3_000
/** Maximum time that the start of the gateway waits for earlier revocations. Milliseconds. */
const START_WAIT_MS = 2_000
const NOT_RELAYED = { event: 'revocation_not_relayed', message: 'Redis rejects a revocation' }
/** Maximum number of revocations that are queued for Redis while Redis is unavailable. */
const MAX_RELAYS = 10_000

/**
 * Creates the channels: the revocation stream of each issuer with such a stream, and the stream in Redis. Both streams
 * may deliver the same revocation, which does no harm.
 * An issuer is connected while one of its channels is open. The Redis channel counts only for an issuer with a
 * publisher mark in Redis (`publisherKey()`). Gateways write revocations of other issuers to the stream in Redis.
 */
export function createRevocationChannels(options: RevocationChannelsOptions): RevocationChannels {
  const { issuers, logger, tickMs, nowSeconds } = options
  const withStream = new Set(issuers.filter(({ stream }) => stream !== undefined).map(({ issuer }) => issuer))
  const published = new Set<string>()
  const publishing = new Set<string>()
  const relays: (Revocation & { readonly issuer: string })[] = []
  const subscriptions = new Map<string, RevocationsSubscription>()
  const followers: RedisFollower[] = []
  let redisAliveAtMs = Number.NEGATIVE_INFINITY
  /**
   * The last time when Redis had delivered all revocations, by issuer. Contains only issuers that publish revocations
   * in Redis.
   */
  const redisCompleteMs = new Map<string, number>()
  /** The gap that unreadable entries in Redis cause. Another read of the stream does not close this gap. */
  let redisGap: RevocationGap | undefined
  const redisStart = Promise.withResolvers<void>()
  let isUnknown = options.redis !== undefined

  function followRedis(
    connection: RedisConnection,
    { onRevoked, onGap }: RevocationListener,
  ): Promise<RedisFollower> {
    const keys = issuers.map(({ issuer }) => publisherKey(issuer))
    let isLost = false
    return followRedisRevocations({
      ...connection,
      fromStart: true,
      onEntries(entries) {
        const revocations = entries.flatMap(({ revocation }) =>
          revocation?.issuer === undefined ? [] : [revocation],
        )
        if (revocations.length > 0) onRevoked(revocations, undefined)
        // An unreadable entry is a revocation of unknown tokens, so the entry counts as a gap.
        if (revocations.length === entries.length) return
        const completeUntilMs = Math.max(Number.NEGATIVE_INFINITY, ...redisCompleteMs.values())
        redisGap = extendGap(redisGap, { nowSeconds: nowSeconds(), completeUntilMs })
        onGap()
      },
      onGap,
      async onAlive(redis) {
        const marks = await redis.mget(keys)
        for (const [at, { issuer }] of issuers.entries()) {
          if (typeof marks[at] !== 'string') publishing.delete(issuer)
          else publishing.add(issuer) && published.add(issuer)
        }
        isUnknown = false
        if (isLost || redisAliveAtMs < 0)
          logger.info({ event: 'revocations_connected', channel: 'redis' }, 'listening for revocations')
        isLost = false
        redisAliveAtMs = tickMs()
        for (const issuer of publishing) redisCompleteMs.set(issuer, redisAliveAtMs)
        redisStart.resolve()
        for (let relay = relays[0]; relay !== undefined; relay = relays[0]) {
          await relayRevocation(redis, relay, nowSeconds()).catch((error: unknown) => {
            if (!isReplyError(error)) throw error // retried when Redis responds again
            options.failures.failed(NOT_RELAYED, error)
          })
          relays.shift()
        }
      },
      onLost(reason) {
        if (!isLost)
          logger.warn(
            { event: 'revocations_lost', channel: 'redis', reason },
            'not listening for revocations in Redis',
          )
        isLost = true
        redisStart.resolve()
        redisAliveAtMs = Number.NEGATIVE_INFINITY
      },
    })
  }

  function subscribe({ onRevoked, onGap }: RevocationListener): void {
    for (const { issuer, stream } of issuers) {
      if (stream === undefined) continue
      const subscription = subscribeToRevocations({
        ...options,
        ...stream,
        onGap,
        // An issuer can revoke only its own tokens, so the gateway ignores the issuer in the message.
        onRevoked: (revocations) => {
          onRevoked(
            revocations.map((revocation) => ({ ...revocation, issuer: undefined })),
            issuer,
          )
          // Queues the revocations for Redis: for gateways that start later, and for introspection results in Redis.
          if (options.redis === undefined || publishing.has(issuer)) return
          const free = MAX_RELAYS - relays.length
          relays.push(...revocations.slice(0, free).map((revocation) => ({ ...revocation, issuer })))
        },
      })
      subscriptions.set(issuer, subscription)
    }
  }

  const isConfigured = (issuer: string): boolean =>
    isUnknown || withStream.has(issuer) || published.has(issuer)
  const isConnected = (issuer: string): boolean =>
    subscriptions.get(issuer)?.connected === true ||
    (publishing.has(issuer) && tickMs() - redisAliveAtMs < SILENCE_MS)

  return {
    async open(listener) {
      if (options.redis === undefined) redisStart.resolve()
      else followers.push(await followRedis(options.redis, listener))
      subscribe(listener)
      const started = [redisStart.promise, ...[...subscriptions.values()].map((one) => one.started)]
      await Promise.race([Promise.all(started), pause(START_WAIT_MS, undefined, { ref: false })])
    },
    isConfigured,
    isConnected,
    states: () =>
      issuers
        .filter(({ issuer }) => isConfigured(issuer))
        .map(({ issuer }) => ({ issuer, isConnected: isConnected(issuer) })),
    marks: (issuer) => publishing.has(issuer),
    completeUntilMs(issuer, issuedAtSeconds) {
      const redisMs = redisCompleteMs.get(issuer) ?? Number.NEGATIVE_INFINITY
      return Math.max(
        subscriptions.get(issuer)?.completeUntilMs(issuedAtSeconds) ?? Number.NEGATIVE_INFINITY,
        isInGap(redisGap, issuedAtSeconds) ? Math.min(redisMs, redisGap.completeUntilMs) : redisMs,
      )
    },
    async close() {
      await Promise.all([...followers, ...subscriptions.values()].map((one) => one.close()))
    },
  }
}
