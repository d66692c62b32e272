/** Options of the Fastify plugin. */
export type ScopegateOptions = {
  /** The folder with `gateway.yaml` and the files that `gateway.yaml` names. */
  readonly configDir: string
  /** The content of `gateway.yaml` as an object. Relative paths start at `configDir`. Default: the file. */
  readonly settings?: object | undefined
  /** Destination of the log lines. Default: standard output. */
  readonly logTo?: { write(line: string): unknown } | undefined
}

/** The value of a claim: one value, or the members of a list. */
type ClaimValue = string | number | boolean | readonly (string | number | boolean)[]

/** The caller of a request, as the issuer of the token asserts it. */
export type ScopegateCaller = {
  /** The user. Undefined: the client acts without a user. */
  readonly subject: string | undefined
  /** The client that presents the token. */
  readonly clientId: string | undefined
  readonly issuer: string
  /** The resources of the token. */
  readonly audience: readonly string[]
  /** Time at which the token expires. Seconds since the epoch. */
  readonly expiresAtSeconds: number
  /** The claims that policies or `identity.claims` name. */
  readonly claims: Readonly<Record<string, ClaimValue | undefined>>
}

/** The decision about an allowed request: `request.scopegate`. */
export type ScopegateRequest = {
  /** The policy and the route: `policy/route`. */
  readonly route: string
  readonly requestId: string
  /** The address of the client, behind `trustedProxies`. */
  readonly clientAddress: string
  /** The scopes of the token. Empty without a token. */
  readonly scopes: readonly string[]
  /** Undefined: the request has no token. */
  readonly caller: ScopegateCaller | undefined
}

/** `fastify.scopegate`. */
export type Scopegate = {
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>
  /** Returns the readiness checks. */
  checks(): readonly { readonly name: string; readonly ok: boolean }[]
  /**
   * Reloads the policies. Invalid policies change nothing. `not_checked`: the plugin could not check the policies. The log
   * has the cause and the remedy.
   */
  reload(): Promise<'applied' | 'unchanged' | 'broken' | 'not_checked'>
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly scopegate: Scopegate
  }
  interface FastifyRequest {
    /** Undefined in hooks that run before the decision. */
    readonly scopegate: ScopegateRequest | undefined
  }
}
