/** What a policy sends a request again for: no connection, one that broke before the answer, an answer of 503. */
export type RetryCause = 'connect' | 'reset' | 503

/** When a request may be sent to its upstream again. */
export type RetryRule = {
  /** How often it is sent at most, the first time included. */
  readonly attempts: number
  readonly on: readonly RetryCause[]
}

/** RFC 9110 section 9.2.2. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** What has to be known about a failed attempt to tell whether the request may be sent again. */
export type FailedAttempt = {
  readonly cause: RetryCause | undefined
  readonly method: string
  /** How often it was sent so far. */
  readonly attempts: number
  /** Bytes of its body that were read, and so are gone. */
  readonly bodyBytes: number
  /** Whether the client got something of the answer. */
  readonly answerBegan: boolean
}

/** Whether a request may be sent again without anybody being able to tell the difference. */
export function mayRetry(rule: RetryRule | undefined, attempt: FailedAttempt): boolean {
  if (rule === undefined || attempt.cause === undefined) return false
  if (attempt.answerBegan || attempt.bodyBytes > 0) return false
  return attempt.attempts < rule.attempts && IDEMPOTENT.has(attempt.method) && rule.on.includes(attempt.cause)
}
