/** How a request was judged, in the words of logs and metrics. A closed list: both become labels. */
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

/** A caller whose token has the scopes. */
export const ALLOWED: Decision = { decision: 'allow', reason: 'ok' }
/** Nobody in particular, on a route that lets everybody through. */
export const ALLOWED_ANONYMOUS: Decision = { decision: 'allow', reason: 'anonymous' }
