/** The request that a load generator repeats, and the only correct response. */
export type Target = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Every response must have this body and status 200. */
  readonly expectedBody: string
  /** Bearer tokens that the generator sends cyclically. If undefined, every request has only `headers`. */
  readonly tokens?: readonly string[]
}

/** Counts of the responses. A right response has status 200 and exactly the expected body. */
export type LoadResult = {
  readonly right: number
  readonly wrongStatus: number
  readonly wrongBody: number
  /** Number of connections that failed or closed during a request. */
  readonly broken: number
  readonly elapsedMs: number
}

/** A closed loop: each connection waits for a response before it sends the next request. */
export type Load = {
  readonly name: string
  readonly connections: number
  run(target: Target, seconds: number): Promise<LoadResult>
}

/**
 * Number of concurrent connections. The number is fixed, so that figures of different machines and dates are
 * comparable.
 */
export const CONNECTIONS = 32
