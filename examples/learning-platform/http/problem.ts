/** Every `error` code that this service answers with. */
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

/** Why a request is not done: a value, turned into an answer in one place. */
export type Problem = { readonly code: ProblemCode; readonly description: string }

/** The status of each code. */
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

/** Makes a problem. */
export function problem(code: ProblemCode, description: string): { readonly refused: Problem } {
  return { refused: { code, description } }
}
