export type JwtRules = {
  /** Compared character by character: another spelling of the same URL is another issuer. RFC 9068 section 4. */
  readonly issuer: string
  /** Allowed signature algorithms. All are asymmetric. RFC 8725 section 3.1. */
  readonly algorithms: ReadonlySet<string>
  readonly type: TokenTypeRule
  /** Names of claims, in order of precedence. The first claim that exists is used. */
  readonly claims: {
    readonly scope: readonly string[]
    readonly client: readonly string[]
    readonly subject: string
  }
  /** Values of `aud` that mean `resource`, for an issuer that uses its own names. */
  readonly audience: readonly string[]
  /** The resource that the values of `audience` mean: the base URL, without a trailing slash. */
  readonly resource: string
  /** Maximum clock skew between issuer and gateway, in both directions. At most 60 seconds. */
  readonly clockToleranceSeconds: number
}

/**
 * Required `typ`. `at+jwt`: RFC 9068. `JWT`: for issuers without the profile of RFC 9068. `any`: `typ` may also be
 * missing.
 */
export type TokenTypeRule = 'at+jwt' | 'JWT' | 'any'
