import { setTimeout as pause } from 'node:timers/promises'
import { connectCluster } from './cluster.ts'
import { createFollower, type FollowOptions, type RedisFollower } from './follower.ts'
import { createStreamReader, nameServers, STREAMS, writePositions } from './read-partitions.ts'
import { type RevocationEntry, STREAM_START } from './read-redis-revocations.ts'
import { REVOCATION_CHANNEL } from './revocation-keys.ts'

/**
 * The position in a stream: the server process and the last read entry. A field is undefined before the first read and
 * after a possible gap.
 */
type Position = { readonly stream: string; runId: string | undefined; id: string | undefined }

/** Maximum time between two reads of a stream, also without a message. Milliseconds. */
const POLL_MS = 1_000
const COMMAND_TIMEOUT_MS = 2_500
const MAX_BATCH = 1_000

/**
 * Reads the revocation streams of a Redis Cluster until the follower is closed. A message on the channel names a stream
 * with a new entry. A message can get lost, so the follower also reads all streams once a second. A gap is possible
 * when another server process serves a stream, or when the last read entry no longer exists. The function then calls
 * `onGap` and starts that stream again. While a shard is unavailable, the entries of the other shards still arrive.
 * @throws {BootError} the errors of connectCluster() with `mayBeAway`.
 */
export async function followPartitions(options: FollowOptions): Promise<RedisFollower> {
  const cluster = await connectCluster({ ...options, commandTimeoutMs: COMMAND_TIMEOUT_MS, mayBeAway: true })
  const read = createStreamReader(cluster)
  const positions: readonly Position[] = STREAMS.map((stream) => ({
    stream,
    runId: undefined,
    id: undefined,
  }))
  const byStream = new Map(positions.map((position) => [position.stream, position]))
  const woken = new Set<Position>()
  let wake: () => void = () => undefined
  const started = Promise.withResolvers<void>()
  let isSubscribed = false
  cluster.on('message', (_channel: string, stream: string) => {
    const position = byStream.get(stream)
    if (position === undefined) return
    woken.add(position)
    wake()
  })

  /** Delivers the next entries of the given streams. @returns the streams that have more entries. */
  async function readNext(from: readonly Position[]): Promise<readonly Position[]> {
    const pages = await Promise.allSettled(
      from.map(({ stream, id }) => read(stream, id ?? STREAM_START, MAX_BATCH)),
    )
    const behind: Position[] = []
    let hasGap = false
    let failure: PromiseRejectedResult | undefined
    for (const [at, position] of from.entries()) {
      const page = pages[at]
      if (page?.status !== 'fulfilled') {
        failure ??= page
        // If the id of the server process is unknown, a change of the process during the failure cannot be detected.
        if (position.runId === undefined) position.id = undefined
        continue
      }
      const { runId, isThere, lastId, entries } = page.value
      if (position.id === undefined || runId !== position.runId || !isThere) {
        hasGap = true
        position.runId = runId
        position.id = options.fromStart ? STREAM_START : lastId
        if (options.fromStart) behind.push(position)
        continue
      }
      deliver(position, entries)
      if (entries.length === MAX_BATCH) behind.push(position)
    }
    if (hasGap) options.onGap()
    if (failure !== undefined) throw failure.reason
    return behind
  }

  function deliver(position: Position, entries: readonly RevocationEntry[]): void {
    if (entries.length === 0) return
    const servers = nameServers(positions.map(({ runId, id }) => (id === undefined ? undefined : runId)))
    const positioned = entries.map(({ id, revocation }) => {
      position.id = id
      return { id: writePositions(positions.map((one) => one.id ?? STREAM_START)), revocation }
    })
    options.onEntries(positioned, servers)
  }

  async function readAll(from: readonly Position[]): Promise<void> {
    for (let behind = from; behind.length > 0; ) behind = await readNext(behind)
  }

  /** Subscribes to the channel. Without permission for the channel, the follower only polls. */
  async function subscribe(): Promise<void> {
    if (isSubscribed) return
    isSubscribed = true
    await cluster.subscribe(REVOCATION_CHANNEL).catch((error: unknown) => {
      isSubscribed = error instanceof Error && error.message.startsWith('NOPERM')
    })
  }

  async function follow(signal: AbortSignal): Promise<never> {
    for (;;) {
      await subscribe()
      try {
        await readAll(positions)
      } finally {
        started.resolve()
      }
      await options.onAlive?.(cluster)
      const nextPollMs = performance.now() + POLL_MS
      for (;;) {
        if (woken.size === 0) await messageOr(nextPollMs - performance.now(), signal)
        if (woken.size === 0) break
        const from = [...woken]
        woken.clear()
        await readAll(from)
        if (performance.now() >= nextPollMs) break
      }
    }
  }

  /** Waits for a message, or for the given time. */
  async function messageOr(timeMs: number, closing: AbortSignal): Promise<void> {
    const message = new AbortController()
    wake = () => message.abort()
    const signal = AbortSignal.any([closing, message.signal])
    await pause(Math.max(0, timeMs), undefined, { signal }).catch(() => undefined)
    wake = () => undefined
    if (closing.aborted) throw new Error('closed')
  }

  const follower = createFollower({ redis: cluster, follow, onLost: options.onLost })
  // Waits until the first read has set the positions. The follower then delivers every later revocation.
  await started.promise
  return follower
}
