import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { authWalkthroughDocument } from './auth-md.ts'
import { createLazily, type GatewayDocument, representation } from './discovery-document.ts'

/** Creates the documents that depend only on configuration and policies. */
export function staticDocuments(
  config: GatewayConfig,
  policies: { readonly routes: readonly PolicyRoute[]; readonly catalogue: ScopeCatalogue },
  resources: Resources,
): Readonly<Record<'landing' | 'apiCatalog' | 'authWalkthrough', GatewayDocument>> {
  const { baseUrl, name, limits } = config
  return {
    landing: landingDocument(config),
    apiCatalog: apiCatalogDocument(config),
    authWalkthrough: createLazily(() =>
      authWalkthroughDocument({
        baseUrl,
        name,
        bundledAuthorizationServer: config.authorizationServer !== undefined,
        ...policies,
        resources,
        limits,
      }),
    ),
  }
}

/** Links to the machine-readable description and to the walkthrough. RFC 8631. */
const LINKS = ['link', '</openapi.json>; rel="service-desc", </auth.md>; rel="service-doc"', 'vary', 'accept']

const AUTHORIZATION_SERVER = [
  'authorization_server_metadata',
  ENDPOINTS.authorizationServerMetadata,
  'Authorization server metadata',
] as const

/** Creates the document at `/`: HTML for a browser, the same links as JSON for other clients. */
function landingDocument(options: {
  readonly baseUrl: string
  readonly name: string
  /** `undefined`: the gateway does not forward to an authorization server. Other servers publish their own metadata. */
  readonly authorizationServer: object | undefined
}): GatewayDocument {
  const { baseUrl, name } = options
  const addresses = [
    ['openapi', '/openapi.json', 'Description of the API, for tools'],
    ['auth', '/auth.md', 'How to get a token, step by step'],
    ['protected_resource_metadata', ENDPOINTS.protectedResourceMetadata, 'Protected resource metadata'],
    ...(options.authorizationServer === undefined ? [] : [AUTHORIZATION_SERVER]),
  ] as const
  const json = representation(
    'application/json',
    JSON.stringify({
      name,
      ...Object.fromEntries(addresses.map(([key, path]) => [key, `${baseUrl}${path}`])),
    }),
    LINKS,
  )
  const items = addresses
    .map(([, path, what]) => `<li><a href="${path}">${path}</a>: ${what}</li>`)
    .join('\n')
  const html = representation(
    'text/html; charset=utf-8',
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escapeHtml(name)}</title></head>
<body><main><h1>${escapeHtml(name)}</h1>
<p>Base URL: <code>${escapeHtml(baseUrl)}</code></p>
<ul>
${items}
</ul></main></body>
</html>
`,
    [
      ...LINKS,
      'content-security-policy',
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ],
  )
  return (accept) => (accept?.includes('text/html') === true ? html : json)
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Path of the API catalog. RFC 9727 section 2. */
export const API_CATALOG_PATH = '/.well-known/api-catalog'

/** Media type of a linkset that lists APIs. RFC 9727 section 4.2. */
const CONTENT_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

/**
 * Creates the API catalog, with links to the descriptions for machines and for people. Source: RFC 9727, RFC 9264
 * section 4.2.
 */
function apiCatalogDocument({ baseUrl }: { readonly baseUrl: string }): GatewayDocument {
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
