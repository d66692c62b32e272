/**
 * Protected resource: the whole API, or a part of it with its own identifier.
 * Metadata, challenges and token checks all use this object.
 */
export type Resource = {
  /** RFC 8707 section 2: base URL and path, without a trailing slash. */
  readonly identifier: string
  /** Empty for the base URL. */
  readonly path: string
  readonly name: string
  /**
   * Issuers whose tokens are valid here, in the order in which the gateway queries them.
   * Frozen, because the array object is the key of a set of issuers.
   */
  readonly issuers: readonly string[]
  /** Scopes in the metadata. undefined: the read scopes that the routes require. */
  readonly baselineScopes: readonly string[] | undefined
  readonly documentation: string
  /** URLs of the data usage policy and of the terms of service. undefined: absent from the metadata. */
  readonly policy: string | undefined
  readonly terms: string | undefined
  /** Path of its metadata. RFC 9728 section 3.1. */
  readonly metadataPath: string
  /** URL of its metadata. RFC 9728 section 5.1. */
  readonly metadataUrl: string
  /** Token endpoint for refresh requests, if all tokens come from one issuer with a known endpoint. */
  readonly tokenEndpoint: string | undefined
}
