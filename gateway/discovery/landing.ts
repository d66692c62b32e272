import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type OwnDocument, representation } from './discovery-document.ts'

/** Links to the machine-readable description and to the walkthrough. RFC 8631. */
const LINKS = ['link', '</openapi.json>; rel="service-desc", </auth.md>; rel="service-doc"', 'vary', 'accept']

const AUTHORIZATION_SERVER = [
  'authorization_server_metadata',
  ENDPOINTS.authorizationServerMetadata,
  'Authorization server metadata',
] as const

/** Creates the document at `/`: HTML for a browser, the same links as JSON for other clients. */
export function landingDocument(options: {
  readonly baseUrl: string
  readonly name: string
  /** `undefined`: the gateway does not forward to an authorization server. Other servers publish their own metadata. */
  readonly authorizationServer: object | undefined
}): OwnDocument {
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
