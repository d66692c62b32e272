import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { canonicalRequest } from '../../../policy-engine/match/canonical-request.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * Validates the request target and the headers, and converts both to one canonical form. The gateway decides on the
 * same path and headers that it forwards to the upstream.
 * Reads `request`. Sets `canonical`.
 * @returns the rejection `request_malformed` (400) or `target_too_long` (414).
 */
export function canonicalize(context: RequestContext): Rejection | undefined {
  const canonical = canonicalRequest(context.request, context.services.targetRules)
  if ('rejected' in canonical) return canonical
  context.canonical = canonical
  return undefined
}
