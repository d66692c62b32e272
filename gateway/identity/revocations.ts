import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Logger } from '../../runtime/logger.ts'
import { createEventStreamReader } from './event-stream.ts'
import { issuerTls } from './issuer-tls.ts'

/** Where revocations come from, and who hears of them. */
export type RevocationsOptions = {
  /** A `text/event-stream` of the issuer: `ready` once, then `revoked` with `{"grant": …}`. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly onRevoked: (grant: string) => void
  /** Called on every connection: revocations of the gap before it were missed. */
  readonly onConnected: () => void
  readonly logger: Logger
  /** 0 to below 1; spreads the reconnects of many gateways. */
  readonly random: () => number
  /** The authorities that vouch for the issuer, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
}

/**
 * A subscription; `connected` says whether revocations arrive right now. `close` resolves when its connection is
 * gone.
 */
export type RevocationsSubscription = { readonly connected: boolean; close(): Promise<void> }

/** The issuer sends a comment every 15 s: three missed in a row are a dead connection. */
const SILENCE_MS = 45_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 10_000

/**
 * Listens for revocations, so that a revoked token is refused at once and not when its cached verdict ends.
 * Reconnects for ever, with exponential back-off and jitter. While it is away, the cache's own cap holds.
 */
export function subscribeToRevocations(options: RevocationsOptions): RevocationsSubscription {
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

  async function listen(): Promise<void> {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: url.pathname + url.search,
      headers: ['accept', 'text/event-stream', 'authorization', `Basic ${credentials}`],
      signal: closing.signal,
    })
    if (statusCode !== 200) {
      await body.dump()
      throw new Error(`the issuer answered with status ${statusCode}`)
    }
    const read = createEventStreamReader()
    const decoder = new TextDecoder()
    for await (const chunk of body as AsyncIterable<Buffer>) {
      for (const { event, data } of read(decoder.decode(chunk, { stream: true }))) {
        if (event === 'ready') {
          connected = true
          options.onConnected()
          options.logger.info({ event: 'revocations_connected' }, 'listening for revocations')
        }
        if (event === 'revoked') revoked(data)
      }
    }
    throw new Error('the issuer ended the stream')
  }

  function revoked(data: string): void {
    const grant = readGrant(data)
    if (grant !== undefined) options.onRevoked(grant)
    // It was a revocation, of whom cannot be told: forget all.
    else options.onConnected()
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
          options.logger.warn(
            { event: 'revocations_lost', reason: error instanceof Error ? error.message : 'unknown' },
            'not listening for revocations: revoked tokens are noticed when their cached verdict ends',
          )
        connected = false
      }
      const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempt, 10))
      attempt += 1
      await pause(delayMs * (0.5 + options.random() / 2), undefined, { signal: closing.signal }).catch(
        () => undefined,
      )
    }
  }

  const running = run()
  return {
    get connected() {
      return connected
    },
    async close() {
      closing.abort()
      await pool.destroy()
      await running
    },
  }
}

function readGrant(data: string): string | undefined {
  try {
    const message: unknown = JSON.parse(data)
    if (typeof message !== 'object' || message === null || !('grant' in message)) return undefined
    return typeof message.grant === 'string' ? message.grant : undefined
  } catch {
    return undefined
  }
}
