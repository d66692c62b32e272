import { DPOP_ALGORITHMS } from './dpop/algorithms.ts'
import { ENDPOINTS } from './endpoints.ts'

/** Protected Resource Metadata. Source: RFC 9728 section 2. */
export type ProtectedResourceMetadata = {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[] | undefined
  readonly bearer_methods_supported: readonly ['header']
  readonly dpop_signing_alg_values_supported: typeof DPOP_ALGORITHMS
  /** RFC 8705 section 3.3. */
  readonly tls_client_certificate_bound_access_tokens?: true
  readonly resource_name: string
  readonly resource_documentation: string
  readonly resource_policy_uri?: string | undefined
  readonly resource_tos_uri?: string | undefined
}

/**
 * Builds the metadata of a resource. Source: RFC 9728 section 2.
 * Clients build the metadata URL from an identifier, and compare this identifier with `resource` (section 3.3). The two
 * must be equal.
 */
export function protectedResourceMetadata(resource: {
  /** Identifier of the resource, without a trailing slash. */
  readonly identifier: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[]
  readonly name: string
  readonly documentation: string
  readonly policy: string | undefined
  readonly terms: string | undefined
  readonly seesCertificates: boolean
}): ProtectedResourceMetadata {
  return {
    resource: resource.identifier,
    authorization_servers: resource.issuers,
    // RFC 9728 section 3.2: the metadata omits an empty list.
    scopes_supported: resource.scopes.length === 0 ? undefined : resource.scopes,
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: DPOP_ALGORITHMS,
    ...(resource.seesCertificates ? { tls_client_certificate_bound_access_tokens: true } : {}),
    resource_name: resource.name,
    resource_documentation: resource.documentation,
    // `JSON.stringify()` omits undefined members.
    resource_policy_uri: resource.policy,
    resource_tos_uri: resource.terms,
  }
}

/**
 * Returns the path of the metadata of the resource at `path`. `path` is empty for the base URL. Source: RFC 9728
 * section 3.1.
 */
export function protectedResourceMetadataPath(path: string): string {
  return ENDPOINTS.protectedResourceMetadata + path
}

/** Returns the metadata URL of the resource at `baseUrl`. Source: RFC 9728 section 3.1. */
export function protectedResourceMetadataUrl(baseUrl: string): string {
  return baseUrl + protectedResourceMetadataPath('')
}

/**
 * Returns the metadata URLs of an issuer: OAuth, then OpenID Connect. In the first URL, the well-known part is between
 * host and path of the issuer. Source: RFC 8414 section 3.1, OpenID Connect Discovery 1.0 section 4.
 */
export function metadataUrlsOf(issuer: string): readonly [oauth: string, openid: string] {
  const { origin, pathname } = new URL(issuer)
  return [
    `${origin}${ENDPOINTS.authorizationServerMetadata}${pathname === '/' ? '' : pathname}`,
    `${issuer.replace(/\/$/, '')}${ENDPOINTS.openidConfiguration}`,
  ]
}
