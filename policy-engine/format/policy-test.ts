import type { SourceLocation } from '../../platform/diagnostics/diagnostic.ts'

/** A test beside a policy: a request, who sends it, and what the gateway is to decide. Frozen. */
export type PolicyTest = {
  /** What it says, e.g. `refuses a write with only the read scope`. */
  readonly it: string
  /** The name of the policy that it is about. */
  readonly policy: string
  readonly request: {
    readonly method: string
    /** The target as a client sends it, with a query if there is one. */
    readonly path: string
    /** Names in small letters. */
    readonly headers: Readonly<Record<string, string>>
  }
  /** The claims of the token; undefined: no token was sent. */
  readonly token: Readonly<Record<string, unknown>> | undefined
  /** What is not here is not looked at. */
  readonly expect: PolicyTestExpectation
  /** Where it stands: the line of its first key. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number }
  /** Where what it expects stands, or its token. */
  placeOf(what: keyof PolicyTestExpectation | 'token'): SourceLocation
}

/** What a test expects of the decision. */
export type PolicyTestExpectation = {
  /** `challenge` is a 401 that says how to get a token; every other refusal is a `deny`. */
  readonly decision: 'allow' | 'deny' | 'challenge'
  /** As whom the request goes on, when it does. */
  readonly as?: 'token' | 'anonymous' | undefined
  readonly status?: number | undefined
  /** The member `error` of the answer's body. */
  readonly error?: string | undefined
  /** The scopes that the token lacks, in policy order. */
  readonly missing?: readonly string[] | undefined
  /** `<route>` of the same policy or `<policy>/<route>`. */
  readonly route?: string | undefined
  /** The path that the upstream is asked for, without its base path. */
  readonly upstreamPath?: string | undefined
}
