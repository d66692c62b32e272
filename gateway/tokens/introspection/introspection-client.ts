import { parseJsonObject } from '../../../oauth/jwt/parse-json-object.ts'
import { CircuitBreaker } from '../../../platform/circuit-breaker.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import { describeFailure, type Logger } from '../../../platform/logging/logger.ts'
import { createSemaphore } from '../../../platform/semaphore.ts'
import { UnverifiableError } from '../unverifiable-error.ts'
import { IntrospectionError, type IntrospectionErrorCode } from './introspection-error.ts'
import { type IntrospectionTransportOptions, openIntrospectionTransport } from './introspection-transport.ts'
import { createRequestProbe } from './request-probe.ts'

/**
 * Outcome of an introspection: a response, or an error code. The outcome is a metric label, so the set of values is
 * fixed.
 */
export type IntrospectionOutcome = 'answered' | IntrospectionErrorCode

export type IntrospectionClientOptions = Omit<IntrospectionTransportOptions, 'accept' | 'connections'> & {
  readonly issuer: string
  /** Deadline from the call to the last byte of the response, queueing included. Milliseconds. */
  readonly timeoutMs: number
  readonly maxConcurrent: number
  readonly maxQueue: number
  /** Extracts the introspection response from a signed response (RFC 9701). Undefined: responses are not signed. */
  readonly readSigned: ((text: string) => Promise<unknown>) | undefined
  readonly tickMs: () => number
  readonly onResult: (result: IntrospectionOutcome) => void
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly failures: Pick<FailureLog, 'failed'>
}

export type IntrospectionClient = {
  /**
   * Returns the issuer's response. The content of the response is not validated.
   * @param isKnown whether the token has an earlier status. Tokens with an earlier status take at most half of the
   * queue. A recheck of all cached tokens therefore leaves room for other tokens.
   * @param requestId ID of the request that needs the status.
   * @throws {UnverifiableError} by rejection: any `IntrospectionError`, or no keys to verify a signed response.
   */
  introspect(token: string, isKnown: boolean, requestId?: string): Promise<unknown>
  /** The numbers of requests in progress and of queued requests. */
  readonly load: { readonly working: number; readonly waiting: number }
  /** The reason why introspection fails: a rejection or the last failure. Undefined after a response. */
  readonly unavailableReason: string | undefined
  close(): Promise<void>
}

/** `Retry-After` while the queue is full: the expected time until one request ends. Milliseconds. */
const OVERLOAD_RETRY_MS = 1_000

/**
 * After five failures, the circuit of the issuer opens for 1 s. After a failed trial request, the circuit opens again,
 * for at most 5 s.
 */
const CIRCUIT_RULES = { failures: 5, longestPauseMs: 5_000 }

/** RFC 7662 section 2.2. */
const INACTIVE_RESPONSE = { active: false }
/** Error codes that concern the token. RFC 7009 section 2.2.1, RFC 6750 section 3.1. */
const TOKEN_ERRORS: ReadonlySet<unknown> = new Set(['unsupported_token_type', 'invalid_token'])
/**
 * Response statuses that may mean a rejected token. Not included: 404 and 405, which concern the URL of the endpoint,
 * and 413, 414 and 431, which concern sizes. A valid token can be too large.
 */
const TOKEN_STATUSES: ReadonlySet<unknown> = new Set([400, 422])

const PROBE_REJECTED = 'the issuer rejects the probes of the gateway'
const REQUESTS_REJECTED = {
  event: 'introspection_requests_rejected',
  message:
    'the issuer rejects a token and the probe after it, so clients get 503: look for the reason in the log of the issuer',
  level: 'error',
} as const
const CREDENTIALS_REJECTED = 'the issuer rejects the client credentials of the gateway'

/**
 * Creates a client that introspects tokens within a deadline and with limited concurrency. The client rejects calls
 * while the queue is full or the circuit of the issuer is open.
 * Source: RFC 7662 section 2, RFC 9701 for signed responses.
 */
export function createIntrospectionClient(options: IntrospectionClientOptions): IntrospectionClient {
  const { issuer, timeoutMs, readSigned, tickMs, logger, failures } = options
  const transport = openIntrospectionTransport({
    ...options,
    accept: readSigned === undefined ? 'application/json' : 'application/token-introspection+jwt',
    connections: options.maxConcurrent,
  })
  const semaphore = createSemaphore({ maxConcurrent: options.maxConcurrent, maxQueue: options.maxQueue })
  let unavailableReason: string | undefined
  /** The reason why the issuer did not respond to the last request. Undefined after a response. */
  let lastFailure: unknown
  const circuit = new CircuitBreaker(CIRCUIT_RULES, (isClosed) => {
    if (isClosed) {
      unavailableReason = undefined
      logger.info({ event: 'introspection_back', issuer }, 'the issuer responds again: circuit closed')
    } else {
      logger.warn(
        { event: 'introspection_suspended', issuer, err: describeFailure(lastFailure) },
        'introspection at the issuer fails repeatedly: circuit opened',
      )
    }
  })

  /** Sends one request. If the issuer rejects the request because of the token, the result is an inactive token. */
  async function send(token: string, signal: AbortSignal, requestId?: string): Promise<unknown> {
    let response: unknown = INACTIVE_RESPONSE
    try {
      const text = await transport.send(token, signal, requestId)
      response = readSigned === undefined ? parse(text) : await readSigned(text)
    } catch (error) {
      if (!(error instanceof IntrospectionError && TOKEN_ERRORS.has(error.oauthError))) throw error
    }
    unavailableReason = undefined
    lastFailure = undefined
    return response
  }

  const probe = createRequestProbe({
    send,
    tickMs,
    onFailed(error) {
      if (!isRejection(error)) return
      unavailableReason = PROBE_REJECTED
      failures.failed({ ...REQUESTS_REJECTED, fields: { issuer } }, error)
    },
  })

  async function sendToken(token: string, signal: AbortSignal, requestId?: string): Promise<unknown> {
    const startedMs = tickMs()
    const trial = circuit.started(startedMs)
    try {
      const response = await send(token, signal, requestId)
      if (isActive(response)) probe.active(token)
      circuit.succeeded(tickMs())
      return response
    } catch (error) {
      if (error instanceof IntrospectionError && error.code === 'ERR_INTROSPECTION_CREDENTIALS') {
        if (unavailableReason !== CREDENTIALS_REJECTED)
          logger.error(
            { event: 'introspection_credentials_refused', issuer },
            `${CREDENTIALS_REJECTED}: requests that need introspection get 503. Correct introspection.clientId of the issuer, or the secret in introspection.clientSecretFile`,
          )
        unavailableReason = CREDENTIALS_REJECTED
      }
      if (isRejection(error)) {
        circuit.succeeded(tickMs())
        lastFailure = undefined
      } else {
        lastFailure = signal.aborted ? tooLate(timeoutMs, error) : error
        circuit.failed(startedMs, tickMs())
      }
      throw error
    } finally {
      circuit.ended(trial)
    }
  }

  /**
   * Introspects a token. If the issuer rejects the token but accepts a probe, sends the token again, because an outage
   * can end between the two requests. A second rejection means that the token is inactive.
   */
  async function introspectNow(token: string, signal: AbortSignal, requestId?: string): Promise<unknown> {
    let rejection: unknown
    try {
      return await sendToken(token, signal, requestId)
    } catch (error) {
      rejection = error
    }
    if (!mayConcernToken(rejection) || !(await probe.isAccepted(signal))) throw rejection
    try {
      return await sendToken(token, signal, requestId)
    } catch (error) {
      if (!isSameRejection(error, rejection)) throw error
      return INACTIVE_RESPONSE
    }
  }

  function rejectWhileSuspended(): void {
    const rejectedForMs = circuit.rejectsForMs(tickMs())
    if (rejectedForMs !== undefined)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_SUSPENDED',
        'The circuit of the issuer is open after repeated failures.',
        { retryAfterMs: rejectedForMs, cause: lastFailure },
      )
  }

  async function callWithinLimits(token: string, isKnown: boolean, requestId?: string): Promise<unknown> {
    rejectWhileSuspended()
    const signal = AbortSignal.timeout(timeoutMs)
    const isFull = isKnown && semaphore.waiting > 0 && semaphore.waiting >= options.maxQueue / 2
    const response = isFull
      ? undefined
      : semaphore.run(async () => {
          // The circuit may have opened while this call was queued.
          rejectWhileSuspended()
          return await introspectNow(token, signal, requestId)
        }, signal)
    if (response === undefined)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_OVERLOAD',
        'The queue for introspection requests is full.',
        { retryAfterMs: OVERLOAD_RETRY_MS },
      )
    try {
      return await response
    } catch (error) {
      throw error instanceof UnverifiableError || !signal.aborted ? error : tooLate(timeoutMs, error)
    }
  }

  return {
    async introspect(token, isKnown, requestId) {
      try {
        const response = await callWithinLimits(token, isKnown, requestId)
        options.onResult('answered')
        return response
      } catch (error) {
        if (error instanceof IntrospectionError) options.onResult(error.code)
        throw error
      }
    },
    load: semaphore,
    get unavailableReason() {
      return unavailableReason ?? (lastFailure instanceof Error ? lastFailure.message : undefined)
    },
    close: () => transport.close(),
  }
}

/**
 * Returns whether an error is a rejection: a status of 400 to 499, except wrong credentials (401, 403) and load (408,
 * 429). The issuer rejects either the token or every request of the gateway. A rejection does not open the circuit.
 * Otherwise one client with malformed tokens would stop the introspection of all tokens.
 */
function isRejection(error: unknown): error is IntrospectionError {
  const status = error instanceof IntrospectionError ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429
}

function mayConcernToken(error: unknown): error is IntrospectionError {
  return error instanceof IntrospectionError && TOKEN_STATUSES.has(error.status)
}

function isSameRejection(error: unknown, rejection: IntrospectionError): boolean {
  return (
    error instanceof IntrospectionError &&
    error.status === rejection.status &&
    error.oauthError === rejection.oauthError
  )
}

function isActive(response: unknown): boolean {
  return typeof response === 'object' && response !== null && 'active' in response && response.active === true
}

function tooLate(timeoutMs: number, cause: unknown): IntrospectionError {
  return new IntrospectionError(
    'ERR_INTROSPECTION_TIMEOUT',
    `The issuer did not respond within ${timeoutMs} ms.`,
    { cause },
  )
}

function parse(text: string): unknown {
  const members = parseJsonObject(text)
  if (members === undefined)
    throw new IntrospectionError('ERR_INTROSPECTION_RESPONSE', "The issuer's response is not a JSON object.")
  return Object.fromEntries(members)
}
