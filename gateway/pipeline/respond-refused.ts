import { type ErrorBody, formatErrorBody } from '../../oauth/error-body.ts'
import type { Refusal } from '../../policy-engine/decide/refusal.ts'
import { type RefuseOptions, toWire } from './error-response.ts'

/** What a client gets instead of what it asked for. */
export type RefusalAnswer = {
  readonly status: number
  /** Name, value, name, value, beyond those that every error answer has. */
  readonly headers: readonly string[]
  readonly body: string
}

/**
 * The side exit of the pipeline: the one place where a refusal becomes status, challenge and body.
 * Source: RFC 6750 section 3, RFC 9728 section 5.1, RFC 9110 section 15.5.
 */
export function refuse(refusal: Refusal, options: RefuseOptions): RefusalAnswer {
  const wire = toWire(refusal, options)
  const headers: string[] = []
  if (wire.challenge !== undefined) headers.push('www-authenticate', wire.challenge)
  if (wire.nonce !== undefined) headers.push('dpop-nonce', wire.nonce)
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
