/** What one round of one server gave. */
export type Sample = {
  readonly requests: number
  readonly elapsedMs: number
  /** CPU time of the server's process, user and system, over the round. */
  readonly cpuMicros: number
  /** CPU time that other programs took on the server's processor meanwhile; undefined when it has none for itself. */
  readonly othersMicros: number | undefined
}

/** CPU time per request, in microseconds. */
export function cpuPerRequest(sample: Sample): number {
  return sample.cpuMicros / sample.requests
}
