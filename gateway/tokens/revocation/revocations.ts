import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Revocation, readRevocation } from '../../../oauth/revocation.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { issuerTls } from '../issuer-tls.ts'
import { createEventStreamReader, type StreamEvent } from './revocation-stream.ts'

export type RevocationsOptions = {
  /**
   * A `text/event-stream` of the issuer: `ready`, then `revoked` for each revocation. `reset` reports a revocation gap.
   */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly onRevoked: (revocation: Revocation) => void
  /** Called for each possible revocation gap, including the time before the first connection. */
  readonly onGap: () => void
  readonly logger: Logger
  /** At least 0 and below 1. Spreads the reconnects of many gateways over time. */
  readonly random: () => number
  /** CA certificates for connections to the issuer, in PEM. Undefined: the public ones. */
  readonly ca: string | undefined
  /** Monotonic clock. Milliseconds. */
  readonly tickMs: () => number
}

/**
 * A subscription. `connected` states whether the stream is connected now. `close` resolves when the connection is
 * closed.
 */
export type RevocationsSubscription = { readonly connected: boolean; close(): Promise<void> }

/** The issuer sends a comment every 5 s. Three missing comments in a row mean a dead connection. Milliseconds. */
const SILENCE_MS = 15_000
/** At most one connection attempt per second. Milliseconds. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000

/**
 * Subscribes to the revocation stream of an issuer. A revoked token is then rejected before its cached status expires.
 * Reconnects without limit, with exponential backoff and jitter, and sends the ID of the last event. If the issuer does
 * not resume after that event, there is a revocation gap.
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
  const credentials = Buffer.from(`${options.clientId}:${options.clientSecret}`).toString('base64')
  let connected = false
  let lastEventAtMs = 0
  let lastId: string | undefined

  async function listen(): Promise<void> {
    const { statusCode, body } = await pool.request({
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
    if (statusCode !== 200) {
      await body.dump()
      throw new Error(`the issuer responded with status ${statusCode}`)
    }
    const read = createEventStreamReader()
    const decoder = new TextDecoder()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      lastEventAtMs = tickMs()
      for (const event of read(decoder.decode(chunk, { stream: true }))) take(event)
    }
    throw new Error('the issuer ended the stream')
  }

  function take({ event, data, id }: StreamEvent): void {
    if (event === 'ready') {
      if (!isResumed(data)) options.onGap()
      if (!connected)
        logger.info({ event: 'revocations_connected', channel: 'stream' }, 'listening for revocations')
      connected = true
    } else if (event === 'reset') options.onGap()
    else if (event === 'revoked') {
      const revocation = readRevocation(data)
      if (revocation !== undefined) options.onRevoked(revocation)
      // An unreadable event is a revocation, but its tokens are unknown.
      else options.onGap()
    }
    if (id !== undefined) lastId = id
  }

  async function run(): Promise<void> {
    let attempt = 0
    while (!closing.signal.aborted) {
      try {
        await listen()
      } catch (error) {
        if (closing.signal.aborted) return
        if (connected) attempt = 0
        // Logs only the first failure and every tenth failure after that, because an outage may last all night.
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
      // Compares clock times instead of using a timer. After a suspension of the process, the connection does not count
      // as open.
      return connected && tickMs() - lastEventAtMs < SILENCE_MS
    },
    async close() {
      closing.abort()
      await pool.destroy()
      await running
    },
  }
}

/**
 * Returns whether the issuer resumes after the last event. Without a statement from the issuer, the result is false.
 */
function isResumed(data: string): boolean {
  try {
    return (JSON.parse(data) as { resumed?: unknown } | null)?.resumed === true
  } catch {
    return false
  }
}
