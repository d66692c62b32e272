import { formatChallenge } from '../../oauth/challenge.ts'
import { type ErrorBody, formatErrorBody, type GatewayErrorCode } from '../../oauth/error-body.ts'
import { rejectToken } from '../../oauth/reject-token.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { describeProofFault, describeTokenFault } from './describe-fault.ts'

export type ErrorResponseOptions = {
  readonly requestId: string
  /** URL of the protected resource metadata. RFC 9728 section 5.1. */
  readonly resourceMetadata: string
  /** URL where the client can refresh a token; undefined for an external issuer. */
  readonly tokenEndpoint: string | undefined
  /** Scheme of the client's token. The challenge uses the same scheme. */
  readonly credential?: 'bearer' | 'dpop'
}

/** The parts of an error response. `challenge` is the value of `WWW-Authenticate`. */
export type ErrorResponse = {
  readonly status: number
  readonly error: GatewayErrorCode
  readonly description: string
  readonly challenge?: string
  readonly scope?: string
  readonly acrValues?: string
  readonly maxAgeSeconds?: number
  readonly retryAfterSeconds?: number
  readonly allow?: readonly string[]
  /** The value of `DPoP-Nonce`. RFC 9449 section 9. */
  readonly nonce?: string
}

/** Rejections whose response has no variable parts. */
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
  mcp_headers_missing: {
    status: 400,
    error: 'invalid_request',
    description:
      'This path requires MCP revision 2026-07-28 or later: send MCP-Protocol-Version, Mcp-Method, Mcp-Name and the Mcp-Param headers of the tool.',
  },
  mcp_headers_differ: {
    status: 400,
    error: 'invalid_request',
    description: 'The headers Mcp-Method and Mcp-Name must have the same values as the body.',
  },
  policy_unavailable: {
    status: 503,
    error: 'policy_unavailable',
    description: 'The access rules of this path are not available. Try again later.',
    retryAfterSeconds: 30,
  },
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
  mcp_tools_unreadable: {
    status: 502,
    error: 'upstream_unavailable',
    description:
      'The gateway cannot filter the tool list of the upstream service. The operator of the service must send a smaller list in valid JSON.',
  },
  upstream_credentials_rejected: {
    status: 502,
    error: 'upstream_unavailable',
    description:
      'The upstream service rejects the credentials of the gateway. The operator of the gateway must correct them.',
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

export function toErrorResponse(rejection: Rejection, options: ErrorResponseOptions): ErrorResponse {
  const { resourceMetadata, credential } = options
  const scheme = credential === 'dpop' ? 'DPoP' : 'Bearer'
  switch (rejection.rejected) {
    case 'request_timed_out':
    case 'body_timed_out':
    case 'condition_failed':
    case 'route_unknown':
    case 'mcp_headers_missing':
    case 'mcp_headers_differ':
    case 'policy_unavailable':
    case 'upstream_unreachable':
    case 'upstream_broken':
    case 'upstream_timed_out':
    case 'mcp_tools_unreadable':
    case 'upstream_credentials_rejected':
    case 'internal_error':
      return FIXED[rejection.rejected]
    case 'request_malformed':
    case 'mcp_body_invalid':
      return { status: 400, error: 'invalid_request', description: rejection.detail }
    case 'target_too_long':
      return tooLarge(414, `The request target is longer than ${rejection.limitBytes} bytes.`)
    case 'headers_too_large':
      return tooLarge(431, `The headers are larger than ${rejection.limitBytes} bytes.`)
    case 'body_too_large':
      return tooLarge(413, `The body is larger than ${rejection.limitBytes} bytes.`, 'payload_too_large')
    case 'method_not_allowed': {
      const { allow } = rejection
      const description = `This path allows only ${allow.join(', ')}.`
      return { status: 405, error: 'method_not_allowed', description, allow }
    }
    case 'credentials_ambiguous':
      return rejectToken('invalid_request', rejection.detail, { resourceMetadata, scheme })
    case 'token_missing':
      return tokenMissing(rejection.anonymous, rejection.needed, resourceMetadata)
    case 'token_invalid': {
      const description = describeTokenFault(rejection.fault, options.tokenEndpoint, scheme)
      const offersDpop = rejection.fault.reason === 'proof_missing'
      return rejectToken('invalid_token', description, { resourceMetadata, scheme, offersDpop })
    }
    case 'proof_invalid':
      return rejectToken('invalid_dpop_proof', describeProofFault(rejection.fault), {
        resourceMetadata,
        scheme: 'DPoP',
      })
    case 'proof_nonce': {
      const description = 'The DPoP proof must contain the nonce from the DPoP-Nonce header of this response.'
      const { nonce } = rejection
      return { ...rejectToken('use_dpop_nonce', description, { resourceMetadata, scheme: 'DPoP' }), nonce }
    }
    case 'authentication_insufficient': {
      const { acr, maxAgeSeconds } = rejection.rule
      const scope = rejection.needed.join(' ')
      return rejectToken('insufficient_user_authentication', describeSignIn(rejection), {
        ...(scope === '' ? {} : { scope }),
        ...(acr.length === 0 ? {} : { acrValues: acr.join(' ') }),
        ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
        resourceMetadata,
        scheme,
      })
    }
    case 'scope_missing': {
      const scope = rejection.needed.join(' ')
      const description = `The access token lacks ${rejection.missing.join(' ')}. Request a token with: ${scope}.`
      return rejectToken('insufficient_scope', description, { scope, resourceMetadata, scheme })
    }
    case 'token_unverifiable':
      return temporarilyUnavailable(
        503,
        'upstream_unavailable',
        rejection,
        'The access token cannot be validated now.',
      )
    case 'upstream_ejected':
      return temporarilyUnavailable(
        503,
        'upstream_unavailable',
        rejection,
        'The upstream service is unavailable.',
      )
    case 'upstream_busy':
      return temporarilyUnavailable(503, 'upstream_busy', rejection, 'The upstream service is busy.')
    case 'upstream_credentials_unavailable':
      return temporarilyUnavailable(
        503,
        'upstream_credentials_unavailable',
        rejection,
        'The gateway cannot authenticate at the upstream service.',
      )
    case 'overloaded':
      return temporarilyUnavailable(503, 'server_error', rejection, 'The gateway is overloaded.')
    case 'rate_limited': {
      const { retryAfterSeconds } = rejection
      const soon = retryAfterSeconds === 1 ? '1 second' : `${retryAfterSeconds} seconds`
      const description = `Too many requests. Try again in ${soon}.`
      return { status: 429, error: 'rate_limited', description, retryAfterSeconds }
    }
    case 'sessions_exhausted': {
      const { limit, retryAfterSeconds } = rejection
      const description = `This caller has reached the limit of ${limit} open WebSocket sessions.`
      return { status: 429, error: 'rate_limited', description, retryAfterSeconds }
    }
  }
}

export type RejectionReply = {
  readonly status: number
  /** Additional headers beyond the standard headers of an error response: name, value, name, value. */
  readonly headers: readonly string[]
  readonly body: string
}

/**
 * Formats status, headers and body of the response to a rejection.
 * Source: RFC 6750 section 3, RFC 9728 section 5.1, RFC 9470 section 3, RFC 9110 section 15.5.
 */
export function formatRejection(rejection: Rejection, options: ErrorResponseOptions): RejectionReply {
  const errorResponse = toErrorResponse(rejection, options)
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
    ...(errorResponse.acrValues === undefined ? {} : { acr_values: errorResponse.acrValues }),
    ...(errorResponse.maxAgeSeconds === undefined ? {} : { max_age: errorResponse.maxAgeSeconds }),
    ...(errorResponse.retryAfterSeconds === undefined
      ? {}
      : { retry_after: errorResponse.retryAfterSeconds }),
  }
  return { status: errorResponse.status, headers, body: formatErrorBody(body) }
}

function describeSignIn({
  fault,
  rule,
}: Extract<Rejection, { readonly rejected: 'authentication_insufficient' }>): string {
  return fault === 'acr'
    ? 'This operation requires another sign-in method. Authorize again with acr_values.'
    : `This operation requires a sign-in within the last ${rule.maxAgeSeconds} seconds. Authorize again with max_age.`
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
