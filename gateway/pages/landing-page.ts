import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { Representation } from '../discovery/discovery-document.ts'
import { renderPage } from './render-page.ts'

export type LandingPageOptions = {
  readonly apiName: string
  readonly baseUrl: string
  /** Whether the gateway forwards to the bundled authorization server. Other servers publish their own metadata. */
  readonly bundledAuthorizationServer: boolean
  readonly hasReference: boolean
  readonly hasLlms: boolean
  /** Path of an operation that the example calls. */
  readonly examplePath: string
  readonly headers: readonly string[]
}

/** Renders `/` for browsers: the name of the API, the three steps to a token, and links. */
export function landingPage(options: LandingPageOptions): Representation {
  const { apiName, baseUrl, hasReference } = options
  const body = html`<p class="eyebrow">API</p>
<h1>${apiName}</h1>
<p class="lead">This API accepts OAuth access tokens. The base URL is <code>${baseUrl}</code>.</p>
<div class="actions">${hasReference && html`<a class="button" href="/docs">Try the API</a>`}
<a class="button${hasReference && ' quiet'}" href="/auth.md">Read the walkthrough</a></div>
<h2>Three steps to a token</h2>
<ol class="cards steps">
${steps(options).map(({ title, text, code }) => html`<li><h3>${title}</h3><p>${text}</p><pre><code>${code}</code></pre></li>\n`)}</ol>
<h2>Documents</h2>
<ul class="cards">
${links(options).map(([path, title, text]) => html`<li><h3><a href="${path}">${title}</a></h3><p class="hint">${text}</p></li>\n`)}</ul>`
  return renderPage({ title: 'Overview', apiName, path: '/', hasReference, body, headers: options.headers })
}

type Step = { readonly title: string; readonly text: Html | string; readonly code: string }

function steps({ baseUrl, bundledAuthorizationServer, examplePath }: LandingPageOptions): readonly Step[] {
  const discover = `GET ${ENDPOINTS.protectedResourceMetadata}`
  const call = `GET ${examplePath}\nAuthorization: Bearer …`
  if (!bundledAuthorizationServer)
    return [
      { title: 'Discover', text: 'The metadata of the API lists the issuers of its tokens.', code: discover },
      {
        title: 'Get a token',
        text: 'Request a token from one of the issuers, as its metadata describes. Name this API in the request.',
        code: `resource=${baseUrl}`,
      },
      { title: 'Call the API', text: 'Send the token with each request.', code: call },
    ]
  return [
    {
      title: 'Register',
      text: 'Any client can register with a redirect URI on the loopback interface.',
      code: `POST ${ENDPOINTS.registration}\n\n{"client_name":"My client",\n "redirect_uris":[…]}`,
    },
    {
      title: 'Ask the person',
      text: 'Open the authorization URL with PKCE in a browser. The person signs in and gives consent.',
      code: `GET ${ENDPOINTS.authorization}\n ?response_type=code\n &client_id=…\n &code_challenge=…\n &code_challenge_method=S256`,
    },
    {
      title: 'Exchange and call',
      text: html`Exchange the code at <code>${ENDPOINTS.token}</code>, then send the token with each request.`,
      code: call,
    },
  ]
}

function links(
  options: LandingPageOptions,
): readonly (readonly [path: string, title: string, text: string])[] {
  return [
    ...(options.hasReference
      ? ([
          ['/docs', 'API reference', 'All operations with their scopes, and requests from the browser.'],
          ['/docs/errors', 'Errors', 'Each error code with its cause and its remedy.'],
        ] as const)
      : []),
    ['/auth.md', 'Get a token', 'The complete walkthrough, with commands that run unchanged.'],
    ['/openapi.json', 'OpenAPI description', 'The description of the API for tools.'],
    ...(options.hasLlms ? ([['/llms.txt', 'llms.txt', 'The entry page for agents.']] as const) : []),
    [
      ENDPOINTS.protectedResourceMetadata,
      'Resource metadata',
      'The issuers and the scopes of the API (RFC 9728).',
    ],
    ...(options.bundledAuthorizationServer
      ? ([
          [
            ENDPOINTS.authorizationServerMetadata,
            'Authorization server metadata',
            'Endpoints and features of the authorization server (RFC 8414).',
          ],
        ] as const)
      : []),
  ]
}
