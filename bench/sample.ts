/** The measurements of one server in one round. */
export type Sample = {
  readonly requests: number
  readonly elapsedMs: number
  /** User and system CPU time of the server process during the round. */
  readonly cpuMicros: number
  /**
   * CPU time of other programs on the processor of the server during the round. Undefined if the server is not pinned.
   */
  readonly othersMicros: number | undefined
}

/** In microseconds. */
export function cpuPerRequest(sample: Sample): number {
  return sample.cpuMicros / sample.requests
}
