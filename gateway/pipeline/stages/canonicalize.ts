import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import { canonicalTarget } from '../../../policy-engine/match/canonical-target.ts'
import type { CanonicalRequest } from '../canonical-request.ts'
import { cleanHeaders } from '../clean-headers.ts'

/** A request as it arrived, before anything was believed. */
export type RawRequest = {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
}

/**
 * Stage 1: one path, clean headers, or 400 and 414. What reaches an upstream is exactly what is decided on here.
 * @returns the canonical request, or `request_malformed` or `target_too_long`.
 */
export function canonicalize(
  request: RawRequest,
  rules: { readonly origin: string; readonly limitBytes: number },
): CanonicalRequest | Refusal {
  const target = canonicalTarget(request.target, {
    method: request.method,
    origin: rules.origin,
    limitBytes: rules.limitBytes,
  })
  if ('refused' in target) return target
  const headers = cleanHeaders(request.rawHeaders, request.httpVersion)
  if ('refused' in headers) return headers
  return { path: target.path, query: target.query, headers }
}
