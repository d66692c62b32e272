import { type ErrorBody, formatErrorBody } from '../../oauth/error-body.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { type ErrorResponseOptions, toErrorResponse } from './error-response.ts'

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
