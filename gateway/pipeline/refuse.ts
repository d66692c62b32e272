import { formatChallenge } from '../../oauth/challenge.ts'
import { type ErrorBody, formatErrorBody, type GatewayErrorCode } from '../../oauth/error-body.ts'
import type { Decision } from '../observe/decision.ts'
import type { Refusal, TokenFault } from '../refusal.ts'

/** What a client gets instead of what it asked for. */
export type RefusalAnswer = {
  readonly status: number
  /** Name, value, name, value, beyond those that every error answer has. */
  readonly headers: readonly string[]
  readonly body: string
}

export type RefuseOptions = {
  readonly requestId: string
  /** Address of the protected resource metadata. RFC 9728 section 5.1. */
  readonly resourceMetadata: string
  /** Where a token can be refreshed; undefined when somebody else issues them. */
  readonly tokenEndpoint: string | undefined
}

/** What one refusal means on the wire. `challenge` is the value of `WWW-Authenticate`. */
type Wire = {
  readonly status: number
  readonly error: GatewayErrorCode
  readonly description: string
  readonly challenge?: string
  readonly scope?: string
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[]
}

/**
 * The side exit of the pipeline: the one place where a refusal becomes status, challenge and body.
 * Source: RFC 6750 section 3, RFC 9728 section 5.1, RFC 9110 section 15.5.
 */
export function refuse(refusal: Refusal, options: RefuseOptions): RefusalAnswer {
  const wire = toWire(refusal, options)
  const headers: string[] = []
  if (wire.challenge !== undefined) headers.push('www-authenticate', wire.challenge)
  if (wire.allow !== undefined) headers.push('allow', wire.allow.join(', '))
  if (wire.retryAfterSeconds !== undefined) headers.push('retry-after', String(wire.retryAfterSeconds))
  const body: ErrorBody = {
    error: wire.error,
    error_description: wire.description,
    request_id: options.requestId,
    ...(wire.scope === undefined ? {} : { scope: wire.scope }),
    ...(wire.retryAfterSeconds === undefined ? {} : { retry_after: wire.retryAfterSeconds }),
  }
  return { status: wire.status, headers, body: formatErrorBody(body) }
}

function toWire(refusal: Refusal, options: RefuseOptions): Wire {
  const { resourceMetadata } = options
  switch (refusal.refused) {
    case 'request_malformed':
      return { status: 400, error: 'invalid_request', description: refusal.detail }
    case 'target_too_long':
      return {
        status: 414,
        error: 'invalid_request',
        description: `The address is longer than ${refusal.limitBytes} bytes.`,
      }
    case 'headers_too_large':
      return {
        status: 431,
        error: 'invalid_request',
        description: `The headers are larger than ${refusal.limitBytes} bytes.`,
      }
    case 'request_timed_out':
      return { status: 408, error: 'invalid_request', description: 'The request did not arrive in time.' }
    case 'body_timed_out':
      return { status: 408, error: 'invalid_request', description: 'The body did not arrive in time.' }
    case 'route_unknown':
      return { status: 404, error: 'not_found', description: 'There is nothing at this address.' }
    case 'method_not_allowed':
      return {
        status: 405,
        error: 'method_not_allowed',
        description: `This address takes ${refusal.allow.join(', ')}.`,
        allow: refusal.allow,
      }
    case 'credentials_ambiguous':
      return {
        status: 400,
        error: 'invalid_request',
        description: refusal.detail,
        challenge: formatChallenge({
          error: 'invalid_request',
          errorDescription: refusal.detail,
          resourceMetadata,
        }),
      }
    case 'token_missing':
      return tokenMissing(refusal.anonymous, refusal.needed, resourceMetadata)
    case 'token_invalid': {
      const description = describeTokenFault(refusal.fault, options.tokenEndpoint)
      return {
        status: 401,
        error: 'invalid_token',
        description,
        challenge: formatChallenge({
          error: 'invalid_token',
          errorDescription: description,
          resourceMetadata,
        }),
      }
    }
    case 'token_unverifiable':
      return {
        status: 503,
        error: 'upstream_unavailable',
        description: 'The access token cannot be checked right now. Try again in a moment.',
        retryAfterSeconds: refusal.retryAfterSeconds,
      }
    case 'scope_missing': {
      const scope = refusal.needed.join(' ')
      const description = `The access token lacks ${refusal.missing.join(' ')}. Ask for a token with: ${scope}.`
      return {
        status: 403,
        error: 'insufficient_scope',
        description,
        challenge: formatChallenge({
          error: 'insufficient_scope',
          errorDescription: description,
          scope,
          resourceMetadata,
        }),
        scope,
      }
    }
    case 'rate_limited':
      return {
        status: 429,
        error: 'rate_limited',
        description: `There were too many requests. Try again in ${refusal.retryAfterSeconds === 1 ? '1 second' : `${refusal.retryAfterSeconds} seconds`}.`,
        retryAfterSeconds: refusal.retryAfterSeconds,
      }
    case 'overloaded':
      return {
        status: 503,
        error: 'server_error',
        description: 'The gateway has too much to do. Try again in a moment.',
        retryAfterSeconds: refusal.retryAfterSeconds,
      }
    case 'sessions_exhausted':
      return {
        status: 429,
        error: 'rate_limited',
        description: `There are ${refusal.limit} open WebSocket sessions of this caller already.`,
        retryAfterSeconds: refusal.retryAfterSeconds,
      }
    case 'body_too_large':
      return {
        status: 413,
        error: 'payload_too_large',
        description: `The body is larger than ${refusal.limitBytes} bytes.`,
      }
    case 'upstream_unreachable':
      return {
        status: 502,
        error: 'upstream_unavailable',
        description: 'The service behind this address cannot be reached.',
      }
    case 'upstream_broken':
      return {
        status: 502,
        error: 'upstream_unavailable',
        description: 'The service behind this address did not give a complete answer.',
      }
    case 'upstream_timed_out':
      return {
        status: 504,
        error: 'upstream_timeout',
        description: 'The service behind this address did not answer in time.',
      }
    case 'upstream_ejected':
      return {
        status: 503,
        error: 'upstream_unavailable',
        description: 'The service behind this address is away. Try again in a moment.',
        retryAfterSeconds: refusal.retryAfterSeconds,
      }
    case 'internal_error':
      return {
        status: 500,
        error: 'server_error',
        description: 'Something went wrong here. The request id leads to the log.',
      }
  }
}

/** RFC 6750 section 3.1: without credentials, a challenge has no error code. */
function tokenMissing(
  anonymous: 'challenge' | 'deny',
  needed: readonly string[],
  resourceMetadata: string,
): Wire {
  const description = 'This address needs an access token: Authorization: Bearer <access token>.'
  if (anonymous === 'deny')
    return { status: 401, error: 'unauthorized', description, challenge: formatChallenge({}) }
  const scope = needed.join(' ')
  return {
    status: 401,
    error: 'unauthorized',
    description,
    challenge: formatChallenge({ resourceMetadata, ...(scope === '' ? {} : { scope }) }),
    ...(scope === '' ? {} : { scope }),
  }
}

/** Says what to do next, not only what is wrong. */
function describeTokenFault(fault: TokenFault, tokenEndpoint: string | undefined): string {
  const refresh =
    tokenEndpoint === undefined ? 'Get a new one from its issuer.' : `Refresh it at ${tokenEndpoint}.`
  switch (fault.reason) {
    case 'malformed':
      return 'The access token is malformed. Send it as: Authorization: Bearer <access token>.'
    case 'unsupported_scheme':
      return 'This API takes access tokens only: Authorization: Bearer <access token>.'
    case 'inactive':
      return `The access token is unknown, expired or revoked. ${refresh}`
    case 'expired':
      return `The access token expired ${ago(fault.secondsAgo)} ago. ${refresh}`
    case 'wrong_issuer':
      return 'The access token comes from an issuer that this API does not trust.'
    case 'wrong_audience':
      return 'The access token is meant for another resource. Ask for one whose resource is this API.'
    case 'sender_constrained':
      return 'The access token is bound to a key; it cannot be sent as a Bearer token.'
    case 'claims_missing':
      return 'The access token lacks claims that this API needs.'
  }
}

function ago(seconds: number): string {
  if (seconds < 60) return seconds === 1 ? '1 second' : `${seconds} seconds`
  const minutes = Math.floor(seconds / 60)
  return minutes === 1 ? '1 minute' : `${minutes} minutes`
}

/** How logs and metrics name a refusal that is about the caller; undefined when it is not. */
export function decisionOf(refusal: Refusal): Decision | undefined {
  switch (refusal.refused) {
    case 'credentials_ambiguous':
      return DENIED.invalidRequest
    case 'token_missing':
      return refusal.anonymous === 'challenge' ? CHALLENGED : DENIED.anonymous
    case 'token_invalid':
      if (refusal.fault.reason === 'expired') return DENIED.expired
      return refusal.fault.reason === 'wrong_audience' ? DENIED.wrongAudience : DENIED.invalidToken
    case 'token_unverifiable':
      return DENIED.unverifiable
    case 'scope_missing':
      return DENIED.insufficientScope
    case 'rate_limited':
      return DENIED.rateLimited
    default:
      return undefined
  }
}

const CHALLENGED: Decision = { decision: 'challenge', reason: 'anonymous' }
const DENIED = {
  anonymous: { decision: 'deny', reason: 'anonymous' },
  expired: { decision: 'deny', reason: 'expired' },
  insufficientScope: { decision: 'deny', reason: 'insufficient_scope' },
  invalidRequest: { decision: 'deny', reason: 'invalid_request' },
  invalidToken: { decision: 'deny', reason: 'invalid_token' },
  rateLimited: { decision: 'deny', reason: 'rate_limited' },
  unverifiable: { decision: 'deny', reason: 'unverifiable' },
  wrongAudience: { decision: 'deny', reason: 'wrong_audience' },
} as const satisfies Record<string, Decision>
