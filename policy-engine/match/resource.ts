/**
 * What tokens are for: the whole API, or a part of it with a name of its own. What its metadata tells, what a challenge names
 * and what a token is held against all come from this one object.
 */
export type Resource = {
  /** RFC 8707 section 2: base URL and path, without a trailing slash. */
  readonly identifier: string
  /** Empty for the base URL itself. */
  readonly path: string
  readonly name: string
  /** Whose tokens are good here, in the order in which they are asked. Frozen: it names a set of issuers. */
  readonly issuers: readonly string[]
  /** Scopes that its metadata lists; undefined: the read scopes that its routes need. */
  readonly baselineScopes: readonly string[] | undefined
  readonly documentation: string
  /** Where people read how its data may be used, and its terms of service; undefined: nothing is said. */
  readonly policy: string | undefined
  readonly terms: string | undefined
  /** Path of its metadata. RFC 9728 section 3.1. */
  readonly metadataPath: string
  /** Address of its metadata. RFC 9728 section 5.1. */
  readonly metadataUrl: string
  /** Where its tokens can be refreshed, when there is one place for all of them that is known. */
  readonly tokenEndpoint: string | undefined
}
