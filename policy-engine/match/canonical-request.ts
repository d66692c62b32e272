import type { Rejection } from '../decide/rejection.ts'
import { type CanonicalTarget, canonicalTarget } from './canonical-target.ts'
import { type CleanHeaders, cleanHeaders } from './clean-headers.ts'

/** A request as the HTTP parser delivers it: unchecked client input. */
export type RawRequest = {
  readonly method?: string | undefined
  /** The request target. */
  readonly url?: string | undefined
  /** Headers of the request: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
}

/** Canonical path, query and clean headers. The gateway decides on these values, and forwards the same values. */
export type CanonicalRequest = CanonicalTarget & { readonly headers: CleanHeaders }

/**
 * Validates the request target and the headers, and reduces them to one canonical form. Pure.
 * @returns the canonical request, or the rejection `request_malformed` (400) or `target_too_long` (414).
 */
export function canonicalRequest(
  request: RawRequest,
  rules: { readonly origin: string; readonly limitBytes: number },
): CanonicalRequest | Rejection {
  const target = canonicalTarget(request.url ?? '', {
    method: request.method ?? '',
    origin: rules.origin,
    limitBytes: rules.limitBytes,
  })
  if ('rejected' in target) return target
  const headers = cleanHeaders(request.rawHeaders, request.httpVersion)
  if ('rejected' in headers) return headers
  return { path: target.path, query: target.query, headers }
}
