import { formatChallenge } from '../../oauth/challenge.ts'
import { type ErrorBody, formatErrorBody, type GatewayErrorCode } from '../../oauth/error-body.ts'
import { refuseToken } from '../../oauth/refuse-token.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { describeProofFault, describeTokenFault } from './describe-fault.ts'

export type ErrorResponseOptions = {
  readonly requestId: string
  /** URL of the protected resource metadata. RFC 9728 section 5.1. */
  readonly resourceMetadata: string
  /** URL where the client can refresh a token; undefined for an external issuer. */
  readonly tokenEndpoint: string | undefined
  /** The scheme of the client's token, which the challenge repeats. */
  readonly credential?: 'bearer' | 'dpop'
}

/** The parts of an error response. `challenge` is the value of `WWW-Authenticate`. */
export type ErrorResponse = {
  readonly status: number
  readonly error: GatewayErrorCode
  readonly description: string
  readonly challenge?: string
  readonly scope?: string
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[]
  /** The value of `DPoP-Nonce`. RFC 9449 section 9. */
  readonly nonce?: string
}

/** Refusals whose response has no variable parts. */
const FIXED = {
  request_timed_out: {
    status: 408,
    error: 'invalid_request',
    description: 'The request did not arrive in time.',
  },
  body_timed_out: { status: 408, error: 'invalid_request', description: 'The body did not arrive in time.' },
  condition_failed: {
    status: 403,
    error: 'access_denied',
    description: 'The token is valid but does not grant access.',
  },
  route_unknown: { status: 404, error: 'not_found', description: 'No route matches this path.' },
  upstream_unreachable: {
    status: 502,
    error: 'upstream_unavailable',
    description: 'The upstream service cannot be reached.',
  },
  upstream_broken: {
    status: 502,
    error: 'upstream_unavailable',
    description: 'The upstream service did not send a complete response.',
  },
  upstream_timed_out: {
    status: 504,
    error: 'upstream_timeout',
    description: 'The upstream service did not respond in time.',
  },
  internal_error: {
    status: 500,
    error: 'server_error',
    description: 'Internal error. Quote the request ID in reports.',
  },
} as const satisfies Readonly<Record<string, ErrorResponse>>

export function toErrorResponse(refusal: Refusal, options: ErrorResponseOptions): ErrorResponse {
  const { resourceMetadata, credential } = options
  const scheme = credential === 'dpop' ? 'DPoP' : 'Bearer'
  switch (refusal.refused) {
    case 'request_timed_out':
    case 'body_timed_out':
    case 'condition_failed':
    case 'route_unknown':
    case 'upstream_unreachable':
    case 'upstream_broken':
    case 'upstream_timed_out':
    case 'internal_error':
      return FIXED[refusal.refused]
    case 'request_malformed':
      return { status: 400, error: 'invalid_request', description: refusal.detail }
    case 'target_too_long':
      return tooLarge(414, `The request target is longer than ${refusal.limitBytes} bytes.`)
    case 'headers_too_large':
      return tooLarge(431, `The headers are larger than ${refusal.limitBytes} bytes.`)
    case 'body_too_large':
      return tooLarge(413, `The body is larger than ${refusal.limitBytes} bytes.`, 'payload_too_large')
    case 'method_not_allowed': {
      const { allow } = refusal
      const description = `This path allows only ${allow.join(', ')}.`
      return { status: 405, error: 'method_not_allowed', description, allow }
    }
    case 'credentials_ambiguous':
      return refuseToken('invalid_request', refusal.detail, { resourceMetadata, scheme })
    case 'token_missing':
      return tokenMissing(refusal.anonymous, refusal.needed, resourceMetadata)
    case 'token_invalid': {
      const description = describeTokenFault(refusal.fault, options.tokenEndpoint, scheme)
      const offersDpop = refusal.fault.reason === 'proof_missing'
      return refuseToken('invalid_token', description, { resourceMetadata, scheme, offersDpop })
    }
    case 'proof_invalid':
      return refuseToken('invalid_dpop_proof', describeProofFault(refusal.fault), {
        resourceMetadata,
        scheme: 'DPoP',
      })
    case 'proof_nonce': {
      const description = 'The DPoP proof must contain the nonce from the DPoP-Nonce header of this response.'
      const { nonce } = refusal
      return { ...refuseToken('use_dpop_nonce', description, { resourceMetadata, scheme: 'DPoP' }), nonce }
    }
    case 'scope_missing': {
      const scope = refusal.needed.join(' ')
      const description = `The access token lacks ${refusal.missing.join(' ')}. Request a token with: ${scope}.`
      return refuseToken('insufficient_scope', description, { scope, resourceMetadata, scheme })
    }
    case 'token_unverifiable':
      return temporarilyUnavailable(
        503,
        'upstream_unavailable',
        refusal,
        'The access token cannot be validated now.',
      )
    case 'upstream_ejected':
      return temporarilyUnavailable(
        503,
        'upstream_unavailable',
        refusal,
        'The upstream service is unavailable.',
      )
    case 'overloaded':
      return temporarilyUnavailable(503, 'server_error', refusal, 'The gateway is overloaded.')
    case 'rate_limited': {
      const { retryAfterSeconds } = refusal
      const soon = retryAfterSeconds === 1 ? '1 second' : `${retryAfterSeconds} seconds`
      const description = `Too many requests. Try again in ${soon}.`
      return { status: 429, error: 'rate_limited', description, retryAfterSeconds }
    }
    case 'sessions_exhausted': {
      const { limit, retryAfterSeconds } = refusal
      const description = `This caller has reached the limit of ${limit} open WebSocket sessions.`
      return { status: 429, error: 'rate_limited', description, retryAfterSeconds }
    }
  }
}

export type RefusalReply = {
  readonly status: number
  /** Additional headers beyond the standard headers of an error response: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: string
}

/**
 * Formats status, headers and body of the response to a refusal.
 * Source: RFC 6750 section 3, RFC 9728 section 5.1, RFC 9110 section 15.5.
 */
export function formatRefusal(refusal: Refusal, options: ErrorResponseOptions): RefusalReply {
  const errorResponse = toErrorResponse(refusal, options)
  const headers: string[] = []
  if (errorResponse.challenge !== undefined) headers.push('www-authenticate', errorResponse.challenge)
  if (errorResponse.nonce !== undefined) headers.push('dpop-nonce', errorResponse.nonce)
  if (errorResponse.allow !== undefined) headers.push('allow', errorResponse.allow.join(', '))
  if (errorResponse.retryAfterSeconds !== undefined)
    headers.push('retry-after', String(errorResponse.retryAfterSeconds))
  const body: ErrorBody = {
    error: errorResponse.error,
    error_description: errorResponse.description,
    request_id: options.requestId,
    ...(errorResponse.scope === undefined ? {} : { scope: errorResponse.scope }),
    ...(errorResponse.retryAfterSeconds === undefined
      ? {}
      : { retry_after: errorResponse.retryAfterSeconds }),
  }
  return { status: errorResponse.status, headers, body: formatErrorBody(body) }
}

function tooLarge(
  status: number,
  description: string,
  error: GatewayErrorCode = 'invalid_request',
): ErrorResponse {
  return { status, error, description }
}

function temporarilyUnavailable(
  status: number,
  error: GatewayErrorCode,
  { retryAfterSeconds }: { readonly retryAfterSeconds: number },
  why: string,
): ErrorResponse {
  return { status, error, description: `${why} Try again in a moment.`, retryAfterSeconds }
}

/** RFC 6750 section 3.1: the challenge to a request without credentials has no error code. */
function tokenMissing(
  anonymous: 'challenge' | 'deny',
  needed: readonly string[],
  resourceMetadata: string,
): ErrorResponse {
  const description = 'This path requires an access token: Authorization: Bearer <access token>.'
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
