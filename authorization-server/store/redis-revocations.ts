import type { Cluster } from 'ioredis'
import type { Revocation } from '../../oauth/revocation.ts'
import { followRedisRevocations } from '../../platform/redis/follow-redis-revocations.ts'
import {
  createStreamReader,
  nameServers,
  readPositions,
  STREAMS,
  type StreamPage,
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
import { keepSeconds, MARGIN_SECONDS, type RevocationContext } from './revocation-records.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

export type RedisRevocations = RevocationLog & { close(): Promise<void> }

/** Lifetime of the mark of a publisher. Gateways rely on published revocations while the mark exists. */
const PUBLISHER_MARK_SECONDS = 60
const MARK_INTERVAL_MS = 15_000

/**
 * Opens the revocation log in Redis.
 * On a single server, an id consists of the id of the Redis process and the id of the entry. In a Redis Cluster, an id
 * consists of a name for all processes and one position for each stream. After a change of a Redis process,
 * acknowledged entries may be lost. After the first call of `follow()`, a key in Redis shows gateways that this issuer
 * publishes revocations.
 */
export function openRedisRevocations(options: {
  readonly redis: RedisClient
  readonly connection: RedisConnection
  readonly context: RevocationContext
  /** Receives each revocation. `onGap` runs when Redis may have lost some revocations. */
  readonly onRevoked: (revocations: readonly Revocation[]) => void
  readonly onGap: () => void
}): RedisRevocations {
  const { redis, context } = options
  const { issuer } = context
  const listeners = new Set<RevocationListener>()
  // The same stream also contains revocations of other issuers, which gateways write for other gateways.
  const isOwn = ({ revocation }: RevocationEntry): boolean =>
    revocation === undefined || revocation.issuer === issuer
  let following: Promise<{ close(): Promise<void> }> | undefined

  const markPublisher = (): void =>
    void redis.set(publisherKey(issuer), '1', 'EX', PUBLISHER_MARK_SECONDS).catch(() => undefined)

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
    ...(redis.isCluster ? clusterLog(redis as Cluster, isOwn, context) : serverLog(redis, isOwn, context)),
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

function serverLog(redis: RedisClient, isOwn: IsOwn, context: RevocationContext): ReadLog {
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
        const isWanted =
          id === undefined ? isOwnAndApplies(isOwn, await readRedisClock(redis), context) : isOwn
        const own: RevocationEntry[] = []
        for (let after = entryId ?? STREAM_START; ; ) {
          const page = await readEntriesAfter(redis, after, limit + 1)
          own.push(...page.filter(isWanted))
          if (own.length > limit) return undefined
          if (page.length <= limit) return toCompleteLog(own, runId)
          after = page.at(-1)?.id ?? after
        }
      }),
  }
}

/** Reads the streams of a Redis Cluster. An id contains one position for each stream. */
function clusterLog(cluster: Cluster, isOwn: IsOwn, context: RevocationContext): ReadLog {
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
        const from = id === undefined ? STREAMS.map(() => STREAM_START) : readPositions(text)
        if (from === undefined || (id !== undefined && itsServers === undefined)) return undefined
        const isWanted =
          id === undefined ? isOwnAndApplies(isOwn, await readRedisClock(cluster), context) : isOwn
        const pages = await Promise.all(
          STREAMS.map((stream, at) => readPages(stream, from[at] ?? STREAM_START, limit, isWanted)),
        )
        const servers = nameServers(pages.map(({ runId }) => runId))
        const isKnown = id === undefined || servers === itsServers
        if (servers === undefined || !isKnown || !pages.every(({ isThere }) => isThere)) return undefined
        const reached = pages.map(({ entries, lastId }, at) =>
          entries.length === 0 ? lastId : (from[at] ?? STREAM_START),
        )
        const own = pages.flatMap((page, at) =>
          page.entries.map((entry) => {
            reached[at] = entry.id
            return { ...entry, id: writePositions(reached) }
          }),
        )
        return own.length <= limit ? toCompleteLog(own, servers) : undefined
      }),
  }

  /** Reads the wanted entries of a stream. Stops when the number of entries exceeds the limit. */
  async function readPages(
    stream: string,
    from: string,
    limit: number,
    isWanted: IsOwn,
  ): Promise<StreamPage> {
    const page = await read(stream, from, limit + 1)
    const entries = page.entries.filter(isWanted)
    let { isThere } = page
    for (let last = page; last.entries.length > limit && entries.length <= limit; ) {
      last = await read(stream, last.entries.at(-1)?.id ?? from, limit + 1)
      isThere &&= last.isThere && last.runId === page.runId
      entries.push(...last.entries.filter(isWanted))
    }
    return { ...page, isThere, entries }
  }
}

/**
 * Selects the own entries that still apply. The lifetime of tokens may have been longer when an entry was written, so
 * the expiry in the entry counts. The id of an entry begins with the time of Redis in milliseconds.
 */
function isOwnAndApplies(isOwn: IsOwn, nowSeconds: number, context: RevocationContext): IsOwn {
  return (entry) => {
    const expiresAtSeconds = entry.revocation?.expiresAtSeconds
    const neededUntilSeconds =
      expiresAtSeconds === undefined
        ? Number.parseInt(entry.id, 10) / 1_000 + keepSeconds(context)
        : expiresAtSeconds + MARGIN_SECONDS
    return isOwn(entry) && neededUntilSeconds > nowSeconds
  }
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
