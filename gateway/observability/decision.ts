import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'

/**
 * Decision on a request, for logs and metrics. Both members are metric labels, so each member has a fixed set of
 * values.
 */
export type Decision = {
  readonly decision: 'allow' | 'deny' | 'challenge'
  readonly reason:
    | 'ok'
    | 'anonymous'
    | 'invalid_request'
    | 'invalid_token'
    | 'invalid_proof'
    | 'expired'
    | 'wrong_audience'
    | 'insufficient_scope'
    | 'insufficient_user_authentication'
    | 'condition'
    | 'rate_limited'
    | 'unverifiable'
}

export const ALLOWED: Decision = { decision: 'allow', reason: 'ok' }
export const ALLOWED_ANONYMOUS: Decision = { decision: 'allow', reason: 'anonymous' }

/** Returns the label of a rejection in logs and metrics; undefined when the rejection is not about the caller. */
export function decisionOf(rejection: Rejection): Decision | undefined {
  switch (rejection.rejected) {
    case 'credentials_ambiguous':
      return DENIED.invalidRequest
    case 'token_missing':
      return rejection.anonymous === 'challenge' ? CHALLENGED : DENIED.anonymous
    case 'token_invalid':
      if (rejection.fault.reason === 'expired') return DENIED.expired
      return rejection.fault.reason === 'wrong_audience' ? DENIED.wrongAudience : DENIED.invalidToken
    case 'proof_invalid':
      return DENIED.invalidProof
    case 'proof_nonce':
      return NONCE_NEEDED
    case 'token_unverifiable':
      return DENIED.unverifiable
    case 'authentication_insufficient':
      return SIGN_IN_NEEDED
    case 'scope_missing':
      return DENIED.insufficientScope
    case 'condition_failed':
      return DENIED.condition
    case 'rate_limited':
      return DENIED.rateLimited
    default:
      return undefined
  }
}

/**
 * Returns the location of the rule that denied a request: the failed condition, or the route. Returns undefined if no
 * rule of the policy denied the request.
 */
export function placeOfDenial(rejection: Rejection, policy: PolicyRoute): PolicyRoute['source'] | undefined {
  switch (rejection.rejected) {
    case 'condition_failed':
      return rejection.source
    case 'token_missing':
    case 'authentication_insufficient':
    case 'scope_missing':
    case 'rate_limited':
      return policy.source
    default:
      return undefined
  }
}

const CHALLENGED: Decision = { decision: 'challenge', reason: 'anonymous' }
/** The decision is `challenge`, because the client is expected to retry with the nonce of the response. */
const NONCE_NEEDED: Decision = { decision: 'challenge', reason: 'invalid_proof' }
/** The decision is `challenge`, because the client can get a sufficient token by a new sign-in. RFC 9470 section 3. */
const SIGN_IN_NEEDED: Decision = { decision: 'challenge', reason: 'insufficient_user_authentication' }
const DENIED = {
  anonymous: { decision: 'deny', reason: 'anonymous' },
  condition: { decision: 'deny', reason: 'condition' },
  expired: { decision: 'deny', reason: 'expired' },
  insufficientScope: { decision: 'deny', reason: 'insufficient_scope' },
  invalidProof: { decision: 'deny', reason: 'invalid_proof' },
  invalidRequest: { decision: 'deny', reason: 'invalid_request' },
  invalidToken: { decision: 'deny', reason: 'invalid_token' },
  rateLimited: { decision: 'deny', reason: 'rate_limited' },
  unverifiable: { decision: 'deny', reason: 'unverifiable' },
  wrongAudience: { decision: 'deny', reason: 'wrong_audience' },
} as const satisfies Record<string, Decision>
