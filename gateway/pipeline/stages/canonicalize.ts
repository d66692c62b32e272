import type { Refusal } from '../../../policy-engine/decide/refusal.ts'
import { canonicalRequest } from '../../../policy-engine/match/canonical-request.ts'
import type { RequestContext } from '../request-context.ts'

/**
 * Validates the request target and the headers, and reduces them to one canonical form. The gateway decides on the same
 * path and headers that it forwards to the upstream.
 * Reads `request`. Sets `canonical`.
 * @returns the refusal `request_malformed` (400) or `target_too_long` (414).
 */
export function canonicalize(context: RequestContext): Refusal | undefined {
  const canonical = canonicalRequest(context.request, context.services.targetRules)
  if ('refused' in canonical) return canonical
  context.canonical = canonical
  return undefined
}
