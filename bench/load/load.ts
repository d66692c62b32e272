/** The repeated request of a load generator, and the only response that counts. */
export type Target = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The body that every answer must have, with status 200. */
  readonly expectedBody: string
  /** Bearer tokens, sent in turn and over again; undefined: `headers` as they are, each time. */
  readonly tokens?: readonly string[]
}

/** What came back. A response counts as right with status 200 and exactly the expected body. */
export type LoadResult = {
  readonly right: number
  readonly wrongStatus: number
  readonly wrongBody: number
  /** Connections that failed or were closed under a request. */
  readonly broken: number
  readonly elapsedMs: number
}

/** A closed loop: each connection sends its next request when the answer to the last one is in. */
export type Load = {
  readonly name: string
  readonly connections: number
  /** Sends requests to `target` for `seconds` seconds. */
  run(target: Target, seconds: number): Promise<LoadResult>
}

/** The same number everywhere, so that figures of different machines and dates compare. */
export const CONNECTIONS = 32
