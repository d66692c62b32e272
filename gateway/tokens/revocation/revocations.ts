import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Revocation, readRevocation } from '../../../oauth/revocation.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { issuerTls } from '../issuer-tls.ts'
import { createEventStreamReader, type StreamEvent } from './revocation-stream.ts'

/** Where revocations come from, and who hears of them. */
export type RevocationsOptions = {
  /** A `text/event-stream` of the issuer: `ready`, then `revoked` for each revocation, `reset` when some were missed. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly onRevoked: (revocation: Revocation) => void
  /** Revocations may have been missed: those before the first connection, too. */
  readonly onMissed: () => void
  readonly logger: Logger
  /** 0 to below 1; spreads the reconnects of many gateways. */
  readonly random: () => number
  /** The authorities that vouch for the issuer, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
}

/**
 * A subscription; `connected` says whether revocations arrive right now. `close` resolves when its connection is
 * gone.
 */
export type RevocationsSubscription = { readonly connected: boolean; close(): Promise<void> }

/** The issuer sends a comment every 5 s: three missed in a row are a dead connection. */
const SILENCE_MS = 15_000
/** At most one connect a second. */
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000

/**
 * Listens for revocations, so that a revoked token is refused at once and not when its cached verdict ends. Reconnects for
 * ever, with exponential back-off and jitter, and names the last event that it knows; unless the issuer goes on from there,
 * revocations were missed.
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
  let heardAtMs = 0
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
      throw new Error(`the issuer answered with status ${statusCode}`)
    }
    const read = createEventStreamReader()
    const decoder = new TextDecoder()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      heardAtMs = tickMs()
      for (const event of read(decoder.decode(chunk, { stream: true }))) take(event)
    }
    throw new Error('the issuer ended the stream')
  }

  function take({ event, data, id }: StreamEvent): void {
    if (event === 'ready') {
      if (!isResumed(data)) options.onMissed()
      if (!connected)
        logger.info({ event: 'revocations_connected', channel: 'stream' }, 'listening for revocations')
      connected = true
    } else if (event === 'reset') options.onMissed()
    else if (event === 'revoked') {
      const revocation = readRevocation(data)
      if (revocation !== undefined) options.onRevoked(revocation)
      // It was a revocation, of whom cannot be told: forget all.
      else options.onMissed()
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
        // The first failure is worth a line, and then every tenth: an issuer may be away for a night.
        if (attempt % 10 === 0)
          logger.warn(
            {
              event: 'revocations_lost',
              channel: 'stream',
              reason: error instanceof Error ? error.message : 'unknown',
            },
            'not listening for revocations: revoked tokens are noticed when their cached verdict ends',
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
      // The clock and not a timer: a process that was stopped does not believe what it has not heard.
      return connected && tickMs() - heardAtMs < SILENCE_MS
    },
    async close() {
      closing.abort()
      await pool.destroy()
      await running
    },
  }
}

/** Whether the issuer goes on where the last connection ended; one that does not say so does not. */
function isResumed(data: string): boolean {
  try {
    return (JSON.parse(data) as { resumed?: unknown } | null)?.resumed === true
  } catch {
    return false
  }
}
