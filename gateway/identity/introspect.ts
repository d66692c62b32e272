import type { Logger } from '../../runtime/logger.ts'
import type { Answer } from './answer.ts'
import { openIssuerLine } from './introspection/ask-issuer.ts'
import { createIssuerCircuit } from './introspection/issuer-circuit.ts'
import { createTurns } from './introspection/turns.ts'
import { IntrospectionError, type IntrospectionErrorCode } from './introspection-error.ts'
import type { IntrospectionConfig } from './issuer-config.ts'
import { parseJsonObject } from './jwt/parse-json-object.ts'
import { readIntrospection } from './read-introspection.ts'
import { createScopeSets } from './scope-sets.ts'
import { UnverifiableError } from './unverifiable-error.ts'

/** How a question ended: with an answer, or with which error. A metric label, so a closed list. */
export type IntrospectionResult = 'answered' | IntrospectionErrorCode

/** Whom to ask about tokens, and as whom. */
export type IntrospectionOptions = IntrospectionConfig & {
  readonly issuer: string
  /** The authorities that vouch for the issuer, in PEM; undefined: the public ones. */
  readonly ca: string | undefined
  /** Takes the response out of a signed one (RFC 9701). Undefined: answers are not signed. */
  readonly readSigned: ((text: string) => Promise<unknown>) | undefined
  /** The wall clock. Seconds since the epoch. */
  readonly nowSeconds: () => number
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  readonly onResult: (result: IntrospectionResult) => void
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** Asks one issuer about tokens. */
export type Introspector = {
  /** @throws {UnverifiableError} by the promise, when the issuer does not say. */
  introspect(token: string): Promise<Answer>
  /** Questions on their way, and those that wait for their turn. */
  readonly load: { readonly working: number; readonly waiting: number }
  /** What keeps it from answering; undefined when nothing is known of it. */
  readonly trouble: string | undefined
  close(): Promise<void>
}

/** Whoever finds the queue full may try when a question has had time to end. Milliseconds. */
const OVERLOAD_RETRY_MS = 1_000

const CREDENTIALS_REFUSED = 'the issuer refuses the client credentials of the gateway'
const NOT_ANSWERING = 'the issuer does not answer'

/**
 * Asks an issuer whether tokens are active. Cost of a call: one HTTP request, at most `timeoutMs` milliseconds with the
 * time in the queue. Too many at once are refused, and so is every one while the issuer is given up.
 * Source: RFC 7662 section 2, RFC 9701 for signed answers.
 * `introspect` throws {IntrospectionError}, with any of its codes.
 */
export function createIntrospector(options: IntrospectionOptions): Introspector {
  const { issuer, timeoutMs, readSigned, tickMs, logger } = options
  const line = openIssuerLine({
    ...options,
    accept: readSigned === undefined ? 'application/json' : 'application/token-introspection+jwt',
    connections: options.maxConcurrent,
  })
  const turns = createTurns({ atOnce: options.maxConcurrent, waiting: options.maxQueue })
  const scopes = createScopeSets()
  let trouble: string | undefined
  const circuit = createIssuerCircuit({
    tickMs,
    onChange(isClosed) {
      if (isClosed) {
        trouble = undefined
        logger.info({ event: 'introspection_back', issuer }, 'the issuer answers again')
      } else {
        trouble ??= NOT_ANSWERING
        logger.warn(
          { event: 'introspection_suspended', issuer },
          'the issuer does not answer: it is given a rest',
        )
      }
    },
  })

  async function ask(token: string, signal: AbortSignal): Promise<unknown> {
    const startedMs = tickMs()
    circuit.began()
    try {
      const text = await line.ask(token, signal)
      const response = readSigned === undefined ? parse(text) : await readSigned(text)
      circuit.answered()
      trouble = undefined
      return response
    } catch (error) {
      if (error instanceof IntrospectionError && error.code === 'ERR_INTROSPECTION_CREDENTIALS') {
        if (trouble !== CREDENTIALS_REFUSED)
          logger.error(
            { event: 'introspection_credentials_refused', issuer },
            `${CREDENTIALS_REFUSED}: every token that has to be asked about gets 503 until they are right`,
          )
        trouble = CREDENTIALS_REFUSED
      }
      if (isAboutThisToken(error)) circuit.answered()
      else circuit.failed(startedMs)
      throw error
    } finally {
      circuit.ended()
    }
  }

  function refuseWhileSuspended(): void {
    const refusedForMs = circuit.refusedForMs()
    if (refusedForMs !== undefined)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_SUSPENDED',
        'The issuer failed too often of late to be asked now.',
        { retryAfterMs: refusedForMs },
      )
  }

  async function inTurn(token: string): Promise<Answer> {
    refuseWhileSuspended()
    const signal = AbortSignal.timeout(timeoutMs)
    const turn = turns.take(signal)
    if (turn === undefined)
      throw new IntrospectionError(
        'ERR_INTROSPECTION_OVERLOAD',
        'Too many tokens are being asked about at once.',
        { retryAfterMs: OVERLOAD_RETRY_MS },
      )
    try {
      await turn
    } catch (cause) {
      throw tooLate(timeoutMs, cause)
    }
    let response: unknown
    try {
      // It may have been given up while this one waited.
      refuseWhileSuspended()
      response = await ask(token, signal)
    } catch (error) {
      throw error instanceof UnverifiableError || !signal.aborted ? error : tooLate(timeoutMs, error)
    } finally {
      turns.end()
    }
    const verdict = readIntrospection(response, { issuer, nowSeconds: options.nowSeconds(), scopes })
    return { verdict, ageMs: 0, ttlMs: options.ttlMs }
  }

  return {
    async introspect(token) {
      try {
        const answer = await inTurn(token)
        options.onResult('answered')
        return answer
      } catch (error) {
        if (error instanceof IntrospectionError) options.onResult(error.code)
        throw error
      }
    },
    load: turns,
    get trouble() {
      return trouble
    },
    close: () => line.close(),
  }
}

/** A status such as 400 or 414: whoever sends an odd token must not have the issuer given up for everybody. */
function isAboutThisToken(error: unknown): boolean {
  const status = error instanceof IntrospectionError ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429
}

function tooLate(timeoutMs: number, cause: unknown): IntrospectionError {
  return new IntrospectionError(
    'ERR_INTROSPECTION_TIMEOUT',
    `The issuer gave no answer within ${timeoutMs} ms.`,
    { cause },
  )
}

function parse(text: string): unknown {
  const members = parseJsonObject(text)
  if (members === undefined)
    throw new IntrospectionError(
      'ERR_INTROSPECTION_RESPONSE',
      'The issuer did not answer with a JSON object.',
    )
  return Object.fromEntries(members)
}
