import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import { ERRORS_PATH, type FreePages } from '../../policy-engine/match/free-pages.ts'
import type { Resources } from '../../policy-engine/match/resources.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import { errorCodeOf, errorIndexPage, errorPage } from '../pages/error-pages.ts'
import { type LandingPageOptions, landingPage } from '../pages/landing-page.ts'
import { llmsTxt } from '../pages/llms-txt.ts'
import { prefersHtml } from '../pages/prefers-html.ts'
import { signedInPage } from '../pages/reference-page.ts'
import { renderMarkdown } from '../pages/render-markdown.ts'
import { renderPage } from '../pages/render-page.ts'
import { type AuthWalkthroughOptions, authWalkthrough, exampleRoute } from './auth-md.ts'
import {
  createLazily,
  type GatewayDocument,
  type Representation,
  redirect,
  representation,
} from './discovery-document.ts'

/** Documents of the gateway, without the documents that depend on the description of the API. */
type StaticDocuments = Readonly<
  Record<
    | 'landing'
    | 'apiCatalog'
    | 'authWalkthrough'
    | 'llms'
    | 'errorIndex'
    | 'error'
    | 'errorRedirect'
    | 'signedIn',
    GatewayDocument
  >
>

/**
 * Creates the documents that depend only on configuration and policies.
 * @param options.pages the pages that the gateway serves.
 */
export function staticDocuments(
  config: GatewayConfig,
  policies: { readonly routes: readonly PolicyRoute[]; readonly catalogue: ScopeCatalogue },
  options: { readonly resources: Resources; readonly pages: FreePages },
): StaticDocuments {
  const { baseUrl, name: apiName } = config
  const { reference: hasReference, llms: hasLlms } = options.pages
  const shared = {
    apiName,
    baseUrl,
    bundledAuthorizationServer: config.authorizationServer !== undefined,
    hasReference,
  }
  const walkthrough = { ...config, ...shared, ...policies, ...options }
  const errors = new Map<string, Representation>()
  const error: GatewayDocument = (_accept, params) => {
    // All unknown codes share one page, so the map has a limited size.
    const code = errorCodeOf(params?.['code'], shared)
    const page = errors.get(code) ?? errorPage(code, shared)
    errors.set(code, page)
    return page
  }
  return {
    landing: landingDocument({ ...shared, hasLlms, walkthrough }),
    apiCatalog: apiCatalogDocument(config),
    authWalkthrough: walkthroughDocument(config.docs.enabled, walkthrough, shared),
    llms: createLazily(() => representation('text/plain; charset=utf-8', llmsTxt(shared))),
    errorIndex: createLazily(() => errorIndexPage(shared)),
    error,
    errorRedirect(accept, params) {
      const code = errorCodeOf(params?.['code'], shared)
      return code === '' ? error(accept, params) : redirect(`${ERRORS_PATH}/${code}`)
    },
    signedIn: createLazily(() => signedInPage(apiName)),
  }
}

/** Links to the machine-readable description and to the walkthrough. RFC 8631. */
const LINKS = ['link', '</openapi.json>; rel="service-desc", </auth.md>; rel="service-doc"']
/** A cache must not return the representation for browsers to other clients. */
const VARY_ACCEPT = ['vary', 'accept']

const AUTHORIZATION_SERVER = ['authorization_server_metadata', ENDPOINTS.authorizationServerMetadata] as const

/** Creates the document at `/`: a page for browsers, and links as JSON for other clients. */
function landingDocument(
  options: Omit<LandingPageOptions, 'examplePath' | 'headers'> & {
    readonly walkthrough: Pick<AuthWalkthroughOptions, 'routes' | 'resources'>
  },
): GatewayDocument {
  const { baseUrl, apiName, walkthrough } = options
  const addresses = [
    ['openapi', '/openapi.json'],
    ['auth', '/auth.md'],
    ['protected_resource_metadata', ENDPOINTS.protectedResourceMetadata],
    ...(options.bundledAuthorizationServer ? [AUTHORIZATION_SERVER] : []),
  ] as const
  const json = representation(
    'application/json',
    JSON.stringify({
      name: apiName,
      ...Object.fromEntries(addresses.map(([key, path]) => [key, `${baseUrl}${path}`])),
    }),
    [...LINKS, ...VARY_ACCEPT],
  )
  const page = createLazily(() =>
    landingPage({
      ...options,
      examplePath: exampleRoute(walkthrough)?.path ?? '/…',
      headers: [...LINKS, ...VARY_ACCEPT],
    }),
  )
  return (accept) => (prefersHtml(accept, 'application/json') ? page(accept) : json)
}

/** Creates the document at `/auth.md`: a page for browsers, and Markdown for other clients. */
function walkthroughDocument(
  isRendered: boolean,
  options: AuthWalkthroughOptions,
  page: { readonly apiName: string; readonly hasReference: boolean },
): GatewayDocument {
  const markdown = createLazily(() =>
    representation('text/markdown; charset=utf-8', authWalkthrough(options), VARY_ACCEPT),
  )
  const rendered = createLazily(() =>
    renderPage({
      ...page,
      title: 'Get a token',
      path: '/auth.md',
      body: renderMarkdown(authWalkthrough(options)),
      headers: VARY_ACCEPT,
    }),
  )
  return (accept) =>
    isRendered && prefersHtml(accept, 'text/markdown') ? rendered(accept) : markdown(accept)
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
