import type { Redis } from 'ioredis'
import type { Revocation } from '../../oauth/revocation.ts'
import { followRedisRevocations } from '../../runtime/follow-redis-revocations.ts'
import {
  hasEntry,
  type RevocationEntry,
  readEntriesAfter,
  readLastId,
  readRunId,
} from '../../runtime/read-redis-revocations.ts'
import { publisherKey } from '../../runtime/revocation-keys.ts'
import { attemptRedis } from './attempt-redis.ts'
import type { LoggedRevocation, RevocationListener, RevocationLog } from './store.ts'

/** The log that is the stream in Redis. */
export type RedisRevocations = RevocationLog & { close(): Promise<void> }

/** How long it is believed that revocations are published, without another word. */
const PUBLISHES_SECONDS = 60
const SAY_EVERY_MS = 15_000

/**
 * The log of revocations in Redis. An id is that of the server process (which may have lost what an earlier one
 * acknowledged) and that of the entry. While somebody follows, which is while the service runs, Redis says that the issuer
 * publishes there.
 */
export function openRedisRevocations(options: {
  readonly redis: Redis
  readonly url: string
  readonly issuer: string
  /** Told of each revocation that is heard, and when Redis may have lost some. */
  readonly onRevoked: (revocations: readonly Revocation[]) => void
  readonly onMissed: () => void
}): RedisRevocations {
  const { redis } = options
  const listeners = new Set<RevocationListener>()
  // Gateways put there what other issuers tell them, for each other.
  const isOwn = ({ revocation }: RevocationEntry): boolean =>
    revocation === undefined || revocation.issuer === options.issuer
  let following: Promise<{ close(): Promise<void> }> | undefined

  const sayThatItPublishes = (): void =>
    void redis.set(publisherKey(options.issuer), '1', 'EX', PUBLISHES_SECONDS).catch(() => undefined)

  async function follow(): Promise<{ close(): Promise<void> }> {
    const follower = await followRedisRevocations({
      url: options.url,
      fromStart: false,
      onEntries: (entries, runId) => {
        const own = entries.filter(isOwn)
        options.onRevoked(own.flatMap(({ revocation }) => revocation ?? []))
        tell(listeners, own, runId)
      },
      onMissed: () => {
        options.onMissed()
        for (const listener of listeners) listener.missed()
      },
      onLost: () => {
        for (const listener of listeners) listener.lost()
      },
    })
    sayThatItPublishes()
    redis.on('ready', sayThatItPublishes)
    const timer = setInterval(sayThatItPublishes, SAY_EVERY_MS).unref()
    return {
      close() {
        clearInterval(timer)
        redis.off('ready', sayThatItPublishes)
        return follower.close()
      },
    }
  }

  return {
    lastId: () => attemptRedis(async () => toId(await readRunId(redis), await readLastId(redis))),
    readAfter: (id, limit) =>
      attemptRedis(async () => {
        const [, itsRunId, entryId] = /^(\w+)\.(\d{1,20}-\d{1,20})$/.exec(id) ?? []
        const runId = await readRunId(redis)
        if (entryId === undefined || runId === undefined || itsRunId !== runId) return undefined
        if (!(await hasEntry(redis, entryId))) return undefined
        const entries = await readEntriesAfter(redis, entryId, limit + 1)
        return entries.length > limit ? undefined : toLogged(entries.filter(isOwn), runId)
      }),
    async follow(listener) {
      listeners.add(listener)
      following ??= follow()
      await following
      return () => void listeners.delete(listener)
    },
    close: async () => (await following)?.close(),
  }
}

function tell(
  listeners: ReadonlySet<RevocationListener>,
  entries: readonly RevocationEntry[],
  runId: string | undefined,
): void {
  const logged = toLogged(entries, runId)
  for (const listener of listeners) {
    listener.revoked(logged)
    if (logged.length < entries.length) listener.missed()
  }
}

function toLogged(
  entries: readonly RevocationEntry[],
  runId: string | undefined,
): readonly LoggedRevocation[] {
  return entries.flatMap(({ id, revocation }) =>
    revocation === undefined ? [] : [{ id: toId(runId, id), revocation }],
  )
}

/** Without the name of the server process nobody can go on from an id: it is not known when it comes back. */
function toId(runId: string | undefined, entryId: string): string {
  return `${runId ?? '-'}.${entryId}`
}
