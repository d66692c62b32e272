import { setTimeout as pause } from 'node:timers/promises'
import { type Dispatcher, Pool } from 'undici'
import { type Revocation, readRevocation } from '../../../oauth/revocation.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { ClientSecret } from '../client-secret.ts'
import { issuerTls } from '../issuer-tls.ts'
import { extendGap, isInGap, type RevocationGap } from './revocation-gap.ts'
import { createEventStreamReader, type StreamEvent } from './revocation-stream.ts'

export type RevocationsOptions = {
  /**
   * A `text/event-stream` of the issuer: `ready`, then `revoked` for each revocation. `reset` reports a revocation gap.
   * `replayed` follows a replay of the missed revocations, if `ready` contains `"replayed": false`. `complete` follows
   * a replay of every revocation that has not expired.
   */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /**
   * The secret from a file, which replaces `clientSecret` when the file changes. Undefined: the secret does not change.
   */
  readonly followedSecret?: ClientSecret | undefined
  /** Receives the revocations that arrived together, oldest first. */
  readonly onRevoked: (revocations: readonly Revocation[]) => void
  /** Called for each possible revocation gap, including the time before the first connection. */
  readonly onGap: () => void
  readonly logger: Logger
  /** Returns a random number, at least 0 and below 1, that spreads the reconnects of many gateways over time. */
  readonly random: () => number
  /** CA certificates for connections to the issuer, in PEM. Undefined: the public CA certificates. */
  readonly ca: string | undefined
  readonly tickMs: () => number
  readonly nowSeconds: () => number
}

export type RevocationsSubscription = {
  /** Whether revocations arrive now. False during a replay, because later revocations follow the replay. */
  readonly connected: boolean
  /** Resolves when the first connection has received all revocations that have not expired, or has failed. */
  readonly started: Promise<void>
  /**
   * Returns the time up to which the gateway has received all revocations of tokens with the issue time
   * `issuedAtSeconds`.
   * @param issuedAtSeconds undefined: not known.
   * @returns milliseconds on the monotonic clock; -Infinity: never.
   */
  completeUntilMs(issuedAtSeconds: number | undefined): number
  /** Resolves when the connection is closed. */
  close(): Promise<void>
}

/** The issuer sends a comment every 5 s. Three missing comments in a row mean a dead connection. Milliseconds. */
const SILENCE_MS = 15_000
/** At most one connection attempt per second. Milliseconds. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000

/**
 * Subscribes to the revocation stream of an issuer. A revoked token is then rejected before its cached status expires.
 * Reconnects without limit, with exponential backoff and jitter, and sends the ID of the last event. If the issuer does
 * not resume after the last event, there is a revocation gap.
 * Source: HTML Living Standard, section 9.2.
 */
export function subscribeToRevocations(options: RevocationsOptions): RevocationsSubscription {
  const { logger, tickMs } = options
  const url = new URL(options.url)
  const pool = new Pool(url.origin, {
    connections: 1,
    headersTimeout: 10_000,
    bodyTimeout: SILENCE_MS,
    connect: issuerTls(options.ca),
  })
  const closing = new AbortController()
  let connected = false
  let lastEventAtMs = Number.NEGATIVE_INFINITY
  /** The last time at which no replay was running. */
  let completeAtMs = Number.NEGATIVE_INFINITY
  let lastId: string | undefined
  let gap: RevocationGap | undefined
  let replay: 'none' | 'missed' | 'all' = 'none'
  /**
   * Whether the current replay contained a malformed event. The revocation of this event stays unknown after the
   * replay.
   */
  let hasUnreadable = false
  const start = Promise.withResolvers<void>()

  async function connect(): Promise<Dispatcher.ResponseData> {
    const secret = options.followedSecret?.current ?? options.clientSecret
    const response = await requestStream(secret)
    // The file of the secret may have changed just before the request.
    if (response.statusCode !== 401 || !(await options.followedSecret?.refresh(secret))) return response
    await response.body.dump()
    return await requestStream(options.followedSecret?.current ?? secret)
  }

  function requestStream(secret: string): Promise<Dispatcher.ResponseData> {
    const credentials = Buffer.from(`${options.clientId}:${secret}`).toString('base64')
    return pool.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: [
        'accept',
        'text/event-stream',
        'authorization',
        `Basic ${credentials}`,
        ...(lastId === undefined ? [] : ['last-event-id', lastId]),
      ],
      signal: closing.signal,
    })
  }

  async function listen(): Promise<void> {
    const { statusCode, body } = await connect()
    if (statusCode !== 200) {
      await body.dump()
      throw new Error(`the issuer responded with status ${statusCode}`)
    }
    const read = createEventStreamReader()
    const decoder = new TextDecoder()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const revocations: Revocation[] = []
      for (const event of read(decoder.decode(chunk, { stream: true }))) take(event, revocations)
      // Reports all revocations in one call, because each call checks every open WebSocket session.
      if (revocations.length > 0) options.onRevoked(revocations)
      lastEventAtMs = tickMs()
      if (replay === 'none') completeAtMs = lastEventAtMs
    }
    throw new Error('the issuer ended the stream')
  }

  /** Applies an event. Adds the revocation of the event to `revocations`. */
  function take({ event, data, id }: StreamEvent, revocations: Revocation[]): void {
    if (event === 'ready') {
      const { resumed, replayed, replays } = readReady(data)
      replay = 'none'
      if (replays) replay = 'all'
      else if (!replayed) replay = 'missed'
      hasUnreadable = false
      if (!resumed) reportGap()
      if (!replays) start.resolve()
      if (!connected)
        logger.info({ event: 'revocations_connected', channel: 'stream' }, 'listening for revocations')
      connected = true
    } else if (event === 'reset') {
      reportGap()
      lastId = undefined
      return
    } else if (event === 'replayed') {
      if (replay === 'missed') replay = 'none'
    } else if (event === 'complete') {
      replay = 'none'
      if (!hasUnreadable) gap = undefined
      start.resolve()
    } else if (event === 'revoked') {
      const revocation = readRevocation(data)
      if (revocation !== undefined) revocations.push(revocation)
      // An unreadable event is a revocation of unknown tokens, so the event counts as a gap.
      else {
        hasUnreadable = true
        reportGap()
      }
    }
    // If a replay of all revocations is interrupted, the next connection needs all revocations again.
    if (id !== undefined && replay !== 'all') lastId = id
  }

  function reportGap(): void {
    gap = extendGap(gap, { nowSeconds: options.nowSeconds(), completeUntilMs: completeAtMs })
    options.onGap()
  }

  async function run(): Promise<void> {
    let attempt = 0
    while (!closing.signal.aborted) {
      try {
        await listen()
      } catch (error) {
        if (closing.signal.aborted) return
        // Without a complete replay, the next connection needs the whole log again.
        if (connected && replay === 'none') attempt = 0
        // Logs only the first failure and every tenth failure after that, because an outage may last for hours.
        if (attempt % 10 === 0)
          logger.warn(
            {
              event: 'revocations_lost',
              channel: 'stream',
              reason: error instanceof Error ? error.message : 'unknown',
            },
            'not listening for revocations: revoked tokens are accepted until their cache entry expires',
          )
        connected = false
        start.resolve()
      }
      const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt, 10))
      attempt += 1
      await pause(delayMs * (1 + options.random() / 2), undefined, { signal: closing.signal }).catch(
        () => undefined,
      )
    }
  }

  const running = run()
  return {
    get connected() {
      // Compares clock times instead of using a timer. After a suspension of the process, a timer would run too late,
      // and the connection would still count as open.
      return connected && replay === 'none' && tickMs() - lastEventAtMs < SILENCE_MS
    },
    started: start.promise,
    completeUntilMs: (issuedAtSeconds) =>
      isInGap(gap, issuedAtSeconds) ? gap.completeUntilMs : completeAtMs,
    async close() {
      closing.abort()
      await pool.destroy()
      await running
    },
  }
}

/**
 * Parses the data of the event `ready`.
 * - `resumed`: the issuer sends the missed events after the last event.
 * - `replayed`: false if the event `replayed` follows the missed events. True for issuers that never send this event.
 * - `replays`: the issuer sends all events that have not expired.
 */
function readReady(data: string): {
  readonly resumed: boolean
  readonly replayed: boolean
  readonly replays: boolean
} {
  try {
    const ready = JSON.parse(data) as { resumed?: unknown; replayed?: unknown; replays?: unknown } | null
    return {
      resumed: ready?.resumed === true,
      replayed: ready?.replayed !== false,
      replays: ready?.replays === true,
    }
  } catch {
    return { resumed: false, replayed: true, replays: false }
  }
}
