import type { Cluster } from 'ioredis'
import type { Revocation } from '../../oauth/revocation.ts'
import { followRedisRevocations } from '../../platform/redis/follow-redis-revocations.ts'
import {
  createStreamReader,
  nameServers,
  readPositions,
  STREAMS,
  writePositions,
} from '../../platform/redis/read-partitions.ts'
import {
  hasEntry,
  type RevocationEntry,
  readEntriesAfter,
  readLastId,
  readRunId,
  STREAM_START,
} from '../../platform/redis/read-redis-revocations.ts'
import type { RedisClient } from '../../platform/redis/redis-client.ts'
import type { RedisConnection } from '../../platform/redis/redis-connection.ts'
import { publisherKey } from '../../platform/redis/revocation-keys.ts'
import { attemptRedis, readRedisClock } from './redis.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

export type RedisRevocations = RevocationLog & { close(): Promise<void> }

/** Lifetime of the mark of a publisher. Gateways rely on published revocations while the mark exists. */
const PUBLISHER_MARK_SECONDS = 60
const MARK_INTERVAL_MS = 15_000

/**
 * Opens the revocation log in Redis.
 * An id consists of the id of the Redis process and the id of the entry, because another Redis process may have lost
 * acknowledged entries. While the service runs, a key in Redis shows gateways that this issuer publishes revocations.
 */
export function openRedisRevocations(options: {
  readonly redis: RedisClient
  readonly connection: RedisConnection
  readonly issuer: string
  /** Time for which a revocation applies. Seconds. */
  readonly keepSeconds: number
  /** Receives each revocation. `onGap` runs when Redis may have lost some revocations. */
  readonly onRevoked: (revocations: readonly Revocation[]) => void
  readonly onGap: () => void
}): RedisRevocations {
  const { redis } = options
  const listeners = new Set<RevocationListener>()
  // The same stream also contains revocations of other issuers, which gateways write for other gateways.
  const isOwn = ({ revocation }: RevocationEntry): boolean =>
    revocation === undefined || revocation.issuer === options.issuer
  let following: Promise<{ close(): Promise<void> }> | undefined

  const markPublisher = (): void =>
    void redis.set(publisherKey(options.issuer), '1', 'EX', PUBLISHER_MARK_SECONDS).catch(() => undefined)

  async function follow(): Promise<{ close(): Promise<void> }> {
    const follower = await followRedisRevocations({
      ...options.connection,
      fromStart: false,
      onEntries: (entries, runId) => {
        const own = entries.filter(isOwn)
        options.onRevoked(own.flatMap(({ revocation }) => revocation ?? []))
        notify(listeners, own, runId)
      },
      onGap: () => {
        options.onGap()
        for (const listener of listeners) listener.gap()
      },
      onAlive: async () => {
        for (const listener of listeners) listener.restored?.()
      },
      onLost: () => {
        for (const listener of listeners) listener.lost()
      },
    })
    markPublisher()
    redis.on('ready', markPublisher)
    const timer = setInterval(markPublisher, MARK_INTERVAL_MS).unref()
    return {
      close() {
        clearInterval(timer)
        redis.off('ready', markPublisher)
        return follower.close()
      },
    }
  }

  return {
    ...(redis.isCluster
      ? clusterLog(redis as Cluster, isOwn, options.keepSeconds)
      : serverLog(redis, isOwn, options.keepSeconds)),
    async follow(listener) {
      listeners.add(listener)
      following ??= follow()
      await following
      return () => void listeners.delete(listener)
    },
    close: async () => (await following)?.close(),
  }
}

type ReadLog = Pick<RevocationLog, 'lastId' | 'readAfter'>
type IsOwn = (entry: RevocationEntry) => boolean

/** Reads the stream of a single server. */
function serverLog(redis: RedisClient, isOwn: IsOwn, keepSeconds: number): ReadLog {
  return {
    lastId: () => attemptRedis(async () => toId(await readRunId(redis), await readLastId(redis))),
    readAfter: (id, limit) =>
      attemptRedis(async () => {
        const runId = await readRunId(redis)
        if (runId === undefined) return undefined
        const [, itsRunId, entryId] = id === undefined ? [] : (/^(\w+)\.(\d{1,20}-\d{1,20})$/.exec(id) ?? [])
        if (id !== undefined) {
          if (entryId === undefined || itsRunId !== runId) return undefined
          if (!(await hasEntry(redis, entryId))) return undefined
        }
        const own: RevocationEntry[] = []
        for (let after = entryId ?? (await idBefore(redis, keepSeconds)); ; ) {
          const page = await readEntriesAfter(redis, after, limit + 1)
          own.push(...page.filter(isOwn))
          if (own.length > limit) return undefined
          if (page.length <= limit) return toCompleteLog(own, runId)
          after = page.at(-1)?.id ?? after
        }
      }),
  }
}

/** Reads the streams of a Redis Cluster. The position in an id applies to every stream. */
function clusterLog(cluster: Cluster, isOwn: IsOwn, keepSeconds: number): ReadLog {
  const read = createStreamReader(cluster)
  return {
    lastId: () =>
      attemptRedis(async () => {
        const pages = await Promise.all(STREAMS.map((stream) => read(stream, STREAM_START, 1)))
        const servers = nameServers(pages.map(({ runId }) => runId))
        return toId(servers, writePositions(pages.map(({ lastId }) => lastId)))
      }),
    readAfter: (id, limit) =>
      attemptRedis(async () => {
        const [, itsServers, text = ''] = /^(\w+)\.([0-9a-z_-]*)$/.exec(id ?? '') ?? []
        const oldest = id === undefined ? await idBefore(cluster, keepSeconds) : undefined
        const from = oldest === undefined ? readPositions(text) : STREAMS.map(() => oldest)
        if (from === undefined || (id !== undefined && itsServers === undefined)) return undefined
        const pages = await Promise.all(
          STREAMS.map((stream, at) => read(stream, from[at] ?? STREAM_START, limit + 1)),
        )
        const servers = nameServers(pages.map(({ runId }) => runId))
        const isKnown = servers === itsServers && pages.every(({ isThere }) => isThere)
        if (servers === undefined || (id !== undefined && !isKnown)) return undefined
        // No stream has an entry with the id `oldest`, so a position must not contain this id.
        const reached =
          oldest === undefined
            ? [...from]
            : pages.map(({ entries, lastId }) => (entries.length === 0 ? lastId : STREAM_START))
        const own = pages.flatMap((page, at) =>
          page.entries
            .map((entry) => {
              reached[at] = entry.id
              return { ...entry, id: writePositions(reached) }
            })
            .filter(isOwn),
        )
        const isComplete = own.length <= limit && pages.every(({ entries }) => entries.length <= limit)
        return isComplete ? toCompleteLog(own, servers) : undefined
      }),
  }
}

/** Returns an id before all entries that still apply. The id of an entry begins with the time of Redis. */
async function idBefore(redis: RedisClient, keepSeconds: number): Promise<string> {
  return `${Math.max(0, (await readRedisClock(redis)) - keepSeconds) * 1_000}-0`
}

function notify(
  listeners: ReadonlySet<RevocationListener>,
  entries: readonly RevocationEntry[],
  runId: string | undefined,
): void {
  const logged = toLogged(entries, runId)
  for (const listener of listeners) {
    listener.revoked(logged)
    if (logged.length < entries.length) listener.gap()
  }
}

/** @returns undefined when an entry cannot be parsed. */
function toCompleteLog(
  entries: readonly RevocationEntry[],
  runId: string,
): readonly LoggedRevocation[] | undefined {
  const logged = toLogged(entries, runId)
  return logged.length === entries.length ? logged : undefined
}

function toLogged(
  entries: readonly RevocationEntry[],
  runId: string | undefined,
): readonly LoggedRevocation[] {
  return entries.flatMap(({ id, revocation }) =>
    revocation === undefined ? [] : [{ id: toId(runId, id), revocation }],
  )
}

/** Returns the id of an entry. `readAfter` rejects an id without the id of the Redis process. */
function toId(runId: string | undefined, entryId: string): string {
  return `${runId ?? '-'}.${entryId}`
}
