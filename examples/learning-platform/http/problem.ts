export type ProblemCode =
  | 'invalid_request'
  | 'access_denied'
  | 'invalid_assertion'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'temporarily_unavailable'
  | 'server_error'

/** The reason to reject a request. `sendProblem()` converts the problem to a response. */
export type Problem = { readonly code: ProblemCode; readonly description: string }

export const PROBLEM_STATUS: Readonly<Record<ProblemCode, number>> = {
  invalid_request: 400,
  invalid_assertion: 401,
  access_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  server_error: 500,
  temporarily_unavailable: 503,
}

export function problem(code: ProblemCode, description: string): { readonly rejected: Problem } {
  return { rejected: { code, description } }
}
