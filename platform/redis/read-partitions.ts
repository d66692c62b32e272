import { hash } from 'node:crypto'
import type { Cluster } from 'ioredis'
import { PARTITIONED } from './key-layout.ts'
import { type RevocationEntry, STREAM_START, toEntries } from './read-redis-revocations.ts'
import { revocationStream } from './revocation-keys.ts'

/** The revocation streams of a Redis Cluster, one for each partition. */
export const STREAMS: readonly string[] = PARTITIONED.tags.map(revocationStream)

/** A part of one stream, read in one step. */
export type StreamPage = {
  /** ID of the Redis server process. Undefined: the ACL forbids `INFO`. */
  readonly runId: string | undefined
  /** True when the stream still contains the entry at the given position, and therefore all later entries. */
  readonly isThere: boolean
  readonly lastId: string
  readonly entries: readonly RevocationEntry[]
}

/** Reads the entries of a stream after `id`. */
export type ReadStream = (stream: string, id: string, count: number) => Promise<StreamPage>

/**
 * KEYS: stream. ARGV: position, number of entries. The script runs in one step, so that all values come from the same
 * server.
 */
const READ = `
local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local there = ARGV[1] == '${STREAM_START}' or #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]) == 1
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return {
  run,
  there and 1 or 0,
  last and last[1] or '${STREAM_START}',
  redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2]),
}
`

type Reply = readonly [string, number, string, readonly (readonly [string, readonly string[]])[]]
type ReaderCluster = Cluster & {
  readRevocations(stream: string, id: string, count: number): Promise<Reply>
}

export function createStreamReader(cluster: Cluster): ReadStream {
  cluster.defineCommand('readRevocations', { lua: READ, numberOfKeys: 1 })
  const redis = cluster as ReaderCluster
  return async (stream, id, count) => {
    const [runId, isThere, lastId, entries] = await redis.readRevocations(stream, id, count)
    return {
      runId: runId === '' ? undefined : runId,
      isThere: isThere === 1,
      lastId,
      entries: toEntries(entries),
    }
  }
}

/** A position in all streams: the server process and the last read entry of each stream, in the order of STREAMS. */
export type StreamPosition = { readonly runId: string | undefined; readonly id: string }

/**
 * Returns a name for the server processes of all streams. If the name changes, acknowledged writes may be lost.
 * @returns undefined when the process of a stream is unknown.
 */
export function nameServers(runIds: readonly (string | undefined)[]): string | undefined {
  if (runIds.includes(undefined)) return undefined
  return hash('sha256', runIds.join(), 'hex').slice(0, 32)
}

/** Writes the positions of all streams as text: 64 ids in base 36. A stream without entries has an empty text. */
export function writePositions(ids: readonly string[]): string {
  return ids
    .map((id) =>
      id === STREAM_START
        ? ''
        : id
            .split('-')
            .map((part) => BigInt(part).toString(36))
            .join('-'),
    )
    .join('_')
}

/** @returns undefined when the text is not a result of {@link writePositions}. */
export function readPositions(text: string): readonly string[] | undefined {
  const parts = text.split('_')
  if (
    parts.length !== STREAMS.length ||
    !parts.every((part) => /^([0-9a-z]{1,12}-[0-9a-z]{1,12})?$/.test(part))
  )
    return undefined
  return parts.map((part) =>
    part === ''
      ? STREAM_START
      : part
          .split('-')
          .map((digits) => Number.parseInt(digits, 36))
          .join('-'),
  )
}
