import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { UpstreamTokenMeter } from '../../observability/upstream-token-metrics.ts'
import type { ClientSecret } from '../../tokens/client-secret.ts'
import type { Clock } from '../../tokens/jwt/issuer-keys.ts'
import type { UpstreamCredential } from './credential.ts'
import { type AccessToken, type TokenClient, TokenRequestError } from './token-client.ts'

export type TokenCredential = UpstreamCredential & {
  /** The reason why the last fetch failed. Undefined after a successful fetch. */
  readonly problem: string | undefined
  close(): Promise<void>
}

/** Part of the lifetime after which the gateway fetches a new token. A random part of up to 10 % is subtracted. */
const RENEW_AT = 0.8
const SPREAD = 0.1
/** The gateway does not send a token in this time before its expiry, because a request takes time. Milliseconds. */
const EXPIRY_MARGIN_MS = 5_000
/** The gateway starts the renewal at least this time before it stops sending the token. Milliseconds. */
const RENEWAL_MS = 1_000
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000
/** A rejected token that is younger causes no fetch, because an upstream can send 401 for other reasons. Milliseconds. */
const REJECTED_AGE_MS = 30_000

const FETCH_FAILED = {
  event: 'upstream_token_failed',
  message:
    'the gateway cannot get a token for an upstream: after the expiry of the current token, clients get 503',
}

/**
 * Creates a credential with a token that the gateway fetches with client credentials. Fetches the first token
 * immediately, and each further token before the expiry of its predecessor. Only one fetch runs at a time. While the
 * token endpoint fails, the current token stays in use until its expiry.
 */
export function openTokenCredential(options: {
  readonly upstream: string
  readonly client: TokenClient
  readonly secret: ClientSecret
  readonly clock: Clock
  /** Returns a random number, at least 0 and below 1, that spreads the fetches of many gateways over time. */
  readonly random: () => number
  readonly meter: UpstreamTokenMeter
  readonly logger: Pick<Logger, 'info'>
  readonly failures: Pick<FailureLog, 'failed'>
}): TokenCredential {
  const { upstream, client, secret, clock, meter } = options
  let header: readonly [string, string] | undefined
  /** The current token and its predecessor, which can still be valid. */
  let tokens: readonly string[] = []
  let fetchedTick = Number.NEGATIVE_INFINITY
  let expiresTick = Number.NEGATIVE_INFINITY
  let nextTick = 0
  let failures = 0
  let problem: string | undefined
  let pending: Promise<void> | undefined
  let cancelNext: () => void = () => undefined
  let closed = false

  function take({ token, lifetimeSeconds }: AccessToken, startedTick: number): void {
    const lifetimeMs = lifetimeSeconds * 1_000
    header = ['authorization', `Bearer ${token}`]
    tokens = [token, ...tokens.slice(0, 1)]
    fetchedTick = startedTick
    expiresTick = startedTick + lifetimeMs - EXPIRY_MARGIN_MS
    meter.expiresAt(clock.nowMs() + expiresTick - clock.tickMs())
    meter.requested('ok')
    if (failures > 0)
      options.logger.info(
        { event: 'upstream_token_back', upstream, failures },
        'the token endpoint issues tokens for an upstream again',
      )
    failures = 0
    problem = undefined
    const usableMs = expiresTick - clock.tickMs()
    const renewMs = Math.min(lifetimeMs * (RENEW_AT - SPREAD * options.random()), usableMs - RENEWAL_MS)
    fetchIn(Math.max(FIRST_RETRY_MS, renewMs))
  }

  function failed(error: unknown): void {
    failures += 1
    problem = error instanceof TokenRequestError ? error.message : 'The token request failed.'
    meter.requested(error instanceof TokenRequestError ? error.failure : 'connection')
    options.failures.failed({ ...FETCH_FAILED, fields: { upstream } }, error)
    const retryMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10))
    fetchIn(retryMs * (1 - SPREAD * options.random()))
  }

  function fetchIn(delayMs: number): void {
    if (closed) return
    cancelNext()
    nextTick = clock.tickMs() + delayMs
    cancelNext = clock.after(delayMs, fetchNow)
  }

  function fetchNow(): void {
    if (closed || pending !== undefined) return
    cancelNext()
    const startedTick = clock.tickMs()
    pending = fetchToken()
      .then(
        (token) => {
          if (!closed) take(token, startedTick)
        },
        (error: unknown) => {
          if (!closed) failed(error)
        },
      )
      .finally(() => {
        pending = undefined
      })
  }

  /** Fetches a token. If the server rejects the secret, reads the file of the secret, which may have changed. */
  async function fetchToken(): Promise<AccessToken> {
    const used = secret.current
    try {
      return await client.fetchToken(used)
    } catch (error) {
      const isRejected = error instanceof TokenRequestError && error.failure === 'credentials'
      if (!isRejected || !(await secret.refresh(used))) throw error
      return await client.fetchToken(secret.current)
    }
  }

  fetchNow()
  return {
    foldedName: 'authorization',
    get header() {
      return header !== undefined && clock.tickMs() < expiresTick ? header : undefined
    },
    get pending() {
      return pending
    },
    get retryAfterSeconds() {
      return Math.max(1, Math.ceil((nextTick - clock.tickMs()) / 1_000))
    },
    reveals: (text) => tokens.some((token) => text.includes(token)),
    rejected() {
      // After a failed fetch, only the timer starts the next fetch.
      if (failures === 0 && clock.tickMs() - fetchedTick >= REJECTED_AGE_MS) fetchNow()
    },
    get problem() {
      return problem
    },
    async close() {
      closed = true
      cancelNext()
      await client.close()
    },
  }
}
