import { ENDPOINTS } from './endpoints.ts'

/** Protected Resource Metadata. Source: RFC 9728 section 2. */
export type ProtectedResourceMetadata = {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported: readonly string[]
  readonly bearer_methods_supported: readonly ['header']
  readonly resource_name?: string
  readonly resource_documentation: string
}

/**
 * Builds the metadata of the resource at `baseUrl` (no trailing slash).
 * Source: RFC 9728 section 2; `resource` must equal what clients compare it with (section 3.3).
 */
export function protectedResourceMetadata(options: {
  readonly baseUrl: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[]
  readonly name?: string
}): ProtectedResourceMetadata {
  return {
    resource: options.baseUrl,
    authorization_servers: options.issuers,
    scopes_supported: options.scopes,
    bearer_methods_supported: ['header'],
    ...(options.name === undefined ? {} : { resource_name: options.name }),
    resource_documentation: `${options.baseUrl}/auth.md`,
  }
}

/** Address of the metadata of the resource at `baseUrl`. Source: RFC 9728 section 3.1. */
export function protectedResourceMetadataUrl(baseUrl: string): string {
  return `${baseUrl}${ENDPOINTS.protectedResourceMetadata}`
}
