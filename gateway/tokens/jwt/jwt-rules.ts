/** What an issuer's JWTs have to be, beyond being signed by it. */
export type JwtRules = {
  /** Exact: another spelling of the same address is another issuer. RFC 9068 section 4. */
  readonly issuer: string
  /** Signature algorithms, asymmetric ones only. RFC 8725 section 3.1. */
  readonly algorithms: ReadonlySet<string>
  readonly type: TokenTypeRule
  /** Claims that may hold what is needed, in the order in which they are looked for; the first that is there counts. */
  readonly claims: {
    readonly scope: readonly string[]
    readonly client: readonly string[]
    readonly subject: string
  }
  /** Values of `aud` that stand for `resource`, where an issuer has names of its own for it. */
  readonly audience: readonly string[]
  /** The resource that those stand for: the base URL, without a trailing slash. */
  readonly resource: string
  /** Clocks of issuer and gateway may differ by this much, both ways. At most 60 seconds. */
  readonly clockToleranceSeconds: number
}

/** `at+jwt`: RFC 9068. `JWT`: what issuers without that profile write. `any`: `typ` may be missing too. */
export type TokenTypeRule = 'at+jwt' | 'JWT' | 'any'
