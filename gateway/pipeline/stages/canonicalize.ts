import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import { canonicalTarget } from '../../../policy-engine/match/canonical-target.ts'
import { cleanHeaders } from '../../../policy-engine/match/clean-headers.ts'
import type { CanonicalRequest } from '../canonical-request.ts'

/** A request as the HTTP parser delivers it: unchecked client input. */
export type RawRequest = {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
}

/**
 * Stage 1: validates the request target and the headers, and reduces them to one canonical form. The gateway decides on
 * the same path and headers that it forwards to the upstream.
 * Reads the method, the target, the raw headers and the HTTP version.
 * @returns the canonical request, or the refusal `request_malformed` (400) or `target_too_long` (414).
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
