import { type Revocation, readRevocation } from '../../oauth/revocation.ts'
import { isReplyError } from './is-reply-error.ts'
import type { RedisClient } from './redis-client.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM } from './revocation-keys.ts'

/** An entry of the stream. `revocation` is undefined if the entry is malformed. */
export type RevocationEntry = { readonly id: string; readonly revocation: Revocation | undefined }

/** The ID before the first entry. */
export const STREAM_START = '0-0'

export async function readLastId(redis: RedisClient): Promise<string> {
  const [entry] = await redis.xrevrange(REVOCATION_STREAM, '+', '-', 'COUNT', 1)
  return entry?.[0] ?? STREAM_START
}

/** Returns true when the stream still contains the entry, and therefore all later entries. */
export async function hasEntry(redis: RedisClient, id: string): Promise<boolean> {
  return (await redis.xrange(REVOCATION_STREAM, id, id, 'COUNT', 1)).length === 1
}

/** Returns the entries after `id` without waiting. */
export async function readEntriesAfter(
  redis: RedisClient,
  id: string,
  count: number,
): Promise<readonly RevocationEntry[]> {
  return toEntries(await redis.xrange(REVOCATION_STREAM, `(${id}`, '+', 'COUNT', count))
}

/** Returns the entries after `id`. Waits at most `waitMs` milliseconds for the first entry. */
export async function awaitEntriesAfter(
  redis: RedisClient,
  id: string,
  { count, waitMs }: { readonly count: number; readonly waitMs: number },
): Promise<readonly RevocationEntry[]> {
  const reply = await redis.xread('COUNT', count, 'BLOCK', waitMs, 'STREAMS', REVOCATION_STREAM, id)
  return toEntries(reply?.[0]?.[1] ?? [])
}

/** Returns the ID of the Redis server process. After a change of the ID, Redis can have lost acknowledged writes. */
export async function readRunId(redis: RedisClient): Promise<string | undefined> {
  try {
    return /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1]
  } catch (error) {
    // The ACL can forbid `INFO`, and Redis replies with an error. Any other error is a connection failure.
    if (isReplyError(error)) return undefined
    throw error
  }
}

export function toEntries(
  reply: readonly (readonly [string, readonly string[]])[],
): readonly RevocationEntry[] {
  return reply.map(([id, fields]) => {
    const at = fields.indexOf(REVOCATION_FIELD)
    return { id, revocation: at % 2 === 0 ? readRevocation(fields[at + 1] ?? '') : undefined }
  })
}
