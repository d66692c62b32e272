import type { SourceLocation } from '../../platform/diagnostics/diagnostic.ts'

/** `proxy`: the gateway forwards allowed requests. `decision`: another ingress asks for the decision, and forwards them. */
export type Mode = 'proxy' | 'decision'

/** Test of a policy: a request, its token, and the expected decision. Frozen. */
export type PolicyTest = {
  /** Description, e.g. `denies a write with only the read scope`. */
  readonly it: string
  readonly policy: string
  readonly request: {
    readonly method: string
    /** Request target as the client sends it, including the query. */
    readonly path: string
    /** Headers of the request, with names in lower case. */
    readonly headers: Readonly<Record<string, string>>
    /** undefined: each route is served. */
    readonly mode?: Mode | undefined
  }
  /** Claims of the token. undefined: the request has no token. */
  readonly token: Readonly<Record<string, unknown>> | undefined
  /** The test compares only the fields that are present. */
  readonly expect: PolicyTestExpectation
  /** Location of the first key of the test. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
  /** Locations of the token and of the expectations that are present. */
  readonly locations: Readonly<Partial<Record<TestPart, SourceLocation>>>
}

export type TestPart = keyof PolicyTestExpectation | 'token'

export type PolicyTestExpectation = {
  /** `challenge`: 401 with information on how to get a token. `deny`: all other rejections. */
  readonly decision: 'allow' | 'deny' | 'challenge'
  readonly as?: 'token' | 'anonymous' | undefined
  readonly status?: number | undefined
  /** Member `error` of the response body. */
  readonly error?: string | undefined
  /** Scopes that the token lacks, in policy order. */
  readonly missing?: readonly string[] | undefined
  /** `<route>` of the same policy or `<policy>/<route>`. */
  readonly route?: string | undefined
  /** Path of the upstream request, without the base path of the upstream. */
  readonly upstreamPath?: string | undefined
}
