/** Decision on a request, as logs and metrics show it. Both values are metric labels, so the lists are closed. */
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
    | 'condition'
    | 'rate_limited'
    | 'unverifiable'
}

export const ALLOWED: Decision = { decision: 'allow', reason: 'ok' }
/** Decision for an anonymous caller on a route that allows anonymous access. */
export const ALLOWED_ANONYMOUS: Decision = { decision: 'allow', reason: 'anonymous' }
