import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type OwnDocument, representation } from './discovery-document.ts'

/** RFC 9727 section 2. */
export const API_CATALOG_PATH = '/.well-known/api-catalog'

/** Media type of a linkset that lists APIs. RFC 9727 section 4.2. */
const CONTENT_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/**
 * Creates the API catalog, with links to the descriptions for machines and for people. Source: RFC 9727, RFC 9264
 * section 4.2.
 */
export function apiCatalogDocument({ baseUrl }: { readonly baseUrl: string }): OwnDocument {
  const link = (path: string, type: string) => [{ href: baseUrl + path, type }]
  const linkset = [
    {
      anchor: baseUrl,
      'service-desc': link('/openapi.json', 'application/json'),
      'service-doc': link('/auth.md', 'text/markdown'),
      'service-meta': link(ENDPOINTS.protectedResourceMetadata, 'application/json'),
    },
  ]
  const document = representation(CONTENT_TYPE, JSON.stringify({ linkset }), [
    'link',
    `<${API_CATALOG_PATH}>; rel="api-catalog"`,
  ])
  return () => document
}
