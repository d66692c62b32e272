import type { Revocation } from '../../../oauth/revocation.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import {
  followRedisRevocations,
  type RedisFollower,
} from '../../../platform/redis/follow-redis-revocations.ts'
import { isReplyError } from '../../../platform/redis/is-reply-error.ts'
import { relayRevocation } from '../../../platform/redis/publish-revocation.ts'
import { publisherKey } from '../../../platform/redis/revocation-keys.ts'
import {
  type RevocationsOptions,
  type RevocationsSubscription,
  subscribeToRevocations,
} from './revocations.ts'

/** Whose revocations are wanted, and the ways on which they may come. */
export type RevocationChannelsOptions = {
  readonly issuers: readonly {
    readonly issuer: string
    /** The issuer's own stream of events; undefined: it has none, or it is not used. */
    readonly stream: Pick<RevocationsOptions, 'url' | 'clientId' | 'clientSecret' | 'ca'> | undefined
  }[]
  /** Where authorization servers on Redis write theirs. */
  readonly redis: { readonly url: string } | undefined
  /** @param issuer whom the message is from, where it names none. */
  readonly onRevoked: (revocations: readonly Revocation[], issuer: string | undefined) => void
  /** Some may have been missed. */
  readonly onMissed: () => void
  readonly logger: Logger
  readonly failures: FailureLog
  readonly random: () => number
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** The wall clock. */
  readonly nowSeconds: () => number
}

/** Every way on which this process hears of revocations. */
export type RevocationChannels = {
  /** Whether there is, was, or may be a way on which revocations of the issuer come: until Redis has answered, nobody knows. */
  expects(issuer: string): boolean
  /** Whether they arrive right now. */
  hears(issuer: string): boolean
  /** Whether the issuer marks in Redis what it revokes. */
  marks(issuer: string): boolean
  close(): Promise<void>
}

/** Redis answers every second; one that is silent for longer is taken for lost. */
const SILENCE_MS = 3_000
const NOT_RELAYED = { event: 'revocation_not_relayed', message: 'Redis rejects a revocation' }
/** Kept for Redis while it is away. */
const MOST_RELAYS = 10_000

/**
 * Opens every channel: the stream of events of each issuer that has one, and the stream in Redis. Both may tell the same,
 * which does no harm; an issuer is heard while one of them is open. That of Redis counts for issuers which say in Redis that
 * they publish there; what others tell is written there by the gateways.
 * @throws {BootError} as connectRedis with `mayBeAway`.
 */
export async function openRevocationChannels(
  options: RevocationChannelsOptions,
): Promise<RevocationChannels> {
  const { tickMs, nowSeconds } = options
  const published = new Set<string>()
  const publishing = new Set<string>()
  const relays: (Revocation & { readonly issuer: string })[] = []
  let redisHeardAtMs = Number.NEGATIVE_INFINITY
  let isUnknown = options.redis !== undefined
  const follower = options.redis === undefined ? undefined : await followRedis(options.redis.url)
  const subscriptions = new Map<string, RevocationsSubscription>()
  for (const { issuer, stream } of options.issuers) {
    if (stream === undefined) continue
    const subscription = subscribeToRevocations({
      ...options,
      ...stream,
      // Nobody takes back what another issuer gave.
      onRevoked: (revocation) => {
        options.onRevoked([{ ...revocation, issuer: undefined }], issuer)
        // For gateways that start later, and for verdicts that stand in Redis.
        if (follower === undefined || publishing.has(issuer)) return
        if (relays.length < MOST_RELAYS) relays.push({ ...revocation, issuer })
      },
    })
    subscriptions.set(issuer, subscription)
  }

  function followRedis(url: string): Promise<RedisFollower> {
    const { issuers, logger } = options
    const keys = issuers.map(({ issuer }) => publisherKey(issuer))
    let isLost = false
    return followRedisRevocations({
      url,
      fromStart: true,
      onEntries(entries) {
        const revocations = entries.flatMap(({ revocation }) =>
          revocation?.issuer === undefined ? [] : [revocation],
        )
        if (revocations.length > 0) options.onRevoked(revocations, undefined)
        // There were revocations, of whom cannot be told: forget all.
        if (revocations.length < entries.length) options.onMissed()
      },
      onMissed: options.onMissed,
      async onAlive(redis) {
        const says = await redis.mget(keys)
        for (const [at, { issuer }] of issuers.entries()) {
          if (typeof says[at] !== 'string') publishing.delete(issuer)
          else publishing.add(issuer) && published.add(issuer)
        }
        isUnknown = false
        if (isLost || redisHeardAtMs < 0)
          logger.info({ event: 'revocations_connected', channel: 'redis' }, 'listening for revocations')
        isLost = false
        redisHeardAtMs = tickMs()
        for (let relay = relays[0]; relay !== undefined; relay = relays[0]) {
          await relayRevocation(redis, relay, nowSeconds()).catch((error: unknown) => {
            if (!isReplyError(error)) throw error // again when it is back
            options.failures.failed(NOT_RELAYED, error)
          })
          relays.shift()
        }
      },
      onLost(reason) {
        if (!isLost)
          logger.warn(
            { event: 'revocations_lost', channel: 'redis', reason },
            'not listening for revocations in redis',
          )
        isLost = true
        redisHeardAtMs = Number.NEGATIVE_INFINITY
      },
    })
  }

  return {
    expects: (issuer) => isUnknown || subscriptions.has(issuer) || published.has(issuer),
    hears: (issuer) =>
      subscriptions.get(issuer)?.connected === true ||
      (publishing.has(issuer) && tickMs() - redisHeardAtMs < SILENCE_MS),
    marks: (issuer) => publishing.has(issuer),
    async close() {
      await Promise.all([follower?.close(), ...[...subscriptions.values()].map((one) => one.close())])
    },
  }
}
