import type { Redis } from 'ioredis'
import { type Revocation, readRevocation } from '../../oauth/revocation.ts'
import { isReplyError } from './is-reply-error.ts'
import { REVOCATION_FIELD, REVOCATION_STREAM } from './revocation-keys.ts'

/** An entry of the stream. `revocation` is undefined where it cannot be told what was revoked. */
export type RevocationEntry = { readonly id: string; readonly revocation: Revocation | undefined }

/** Before the first entry. */
export const STREAM_START = '0-0'

/** The newest entry's id. */
export async function readLastId(redis: Redis): Promise<string> {
  const [entry] = await redis.xrevrange(REVOCATION_STREAM, '+', '-', 'COUNT', 1)
  return entry?.[0] ?? STREAM_START
}

/** Whether an entry is in the stream still: then so is everything behind it. */
export async function hasEntry(redis: Redis, id: string): Promise<boolean> {
  return (await redis.xrange(REVOCATION_STREAM, id, id, 'COUNT', 1)).length === 1
}

/** Entries behind `id`, at once. */
export async function readEntriesAfter(
  redis: Redis,
  id: string,
  count: number,
): Promise<readonly RevocationEntry[]> {
  return toEntries(await redis.xrange(REVOCATION_STREAM, `(${id}`, '+', 'COUNT', count))
}

/** Entries behind `id`; waits for the first one, at most `waitMs` milliseconds. */
export async function awaitEntriesAfter(
  redis: Redis,
  id: string,
  { count, waitMs }: { readonly count: number; readonly waitMs: number },
): Promise<readonly RevocationEntry[]> {
  const answer = await redis.xread('COUNT', count, 'BLOCK', waitMs, 'STREAMS', REVOCATION_STREAM, id)
  return toEntries(answer?.[0]?.[1] ?? [])
}

/** Names the server process that answers: another one may have lost what this one acknowledged. */
export async function readRunId(redis: Redis): Promise<string | undefined> {
  try {
    return /^run_id:(\w+)/m.exec(await redis.info('server'))?.[1]
  } catch (error) {
    // Not everybody may ask that: Redis says so. No answer at all is something else.
    if (isReplyError(error)) return undefined
    throw error
  }
}

function toEntries(answer: readonly (readonly [string, readonly string[]])[]): readonly RevocationEntry[] {
  return answer.map(([id, fields]) => {
    const at = fields.indexOf(REVOCATION_FIELD)
    return { id, revocation: at % 2 === 0 ? readRevocation(fields[at + 1] ?? '') : undefined }
  })
}
