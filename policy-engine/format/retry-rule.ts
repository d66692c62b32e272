/** Causes of a retry: no connection, a connection that broke before the response, or a response with status 503. */
export type RetryCause = 'connect' | 'reset' | 503

export type RetryRule = {
  /** Maximum number of attempts, including the first attempt. */
  readonly attempts: number
  readonly on: readonly RetryCause[]
}

/** Idempotent methods: RFC 9110 section 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Properties of a failed attempt that determine whether a retry is allowed. */
export type FailedAttempt = {
  readonly cause: RetryCause | undefined
  readonly method: string
  readonly attempts: number
  /** Bytes of the request body that the gateway has read and cannot send again. */
  readonly bodyBytes: number
  /** Whether the client has received a part of the response. */
  readonly responseBegan: boolean
}

/**
 * Returns whether the gateway may retry a request. A retry must not change the effect on the upstream or the response
 * to the client.
 */
export function mayRetry(rule: RetryRule | undefined, attempt: FailedAttempt): boolean {
  if (rule === undefined || attempt.cause === undefined) return false
  if (attempt.responseBegan || attempt.bodyBytes > 0) return false
  return attempt.attempts < rule.attempts && IDEMPOTENT.has(attempt.method) && rule.on.includes(attempt.cause)
}
