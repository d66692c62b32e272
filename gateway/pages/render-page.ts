import { hash } from 'node:crypto'
import { type Html, html } from '../../platform/pages/html.ts'
import { securityHeaders } from '../../platform/pages/security-headers.ts'
import { type Representation, representation } from '../discovery/discovery-document.ts'
import { PAGE_STYLE } from './page-style.ts'

export type GatewayPage = {
  /** Text of the window title. The title also contains the name of the API. */
  readonly title: string
  readonly apiName: string
  /** Path of the page, which the navigation marks. */
  readonly path: string
  /** Whether the gateway serves the pages below `/docs`. */
  readonly hasReference: boolean
  /** Content of the element `main`. */
  readonly body: Html
  /** Embedded script. The content security policy allows only this script. */
  readonly script?: string | undefined
  /** Origins that the script may call, in addition to the origin of the page. Undefined: the script calls no server. */
  readonly connects?: readonly string[] | undefined
  readonly status?: 404
  /** Whether caches may store the page. Default: yes. */
  readonly isStored?: boolean
  /** More response headers: name, value, name, value. */
  readonly headers?: readonly string[]
}

const STYLE_SOURCE = sourceOf(PAGE_STYLE)

/**
 * Renders a page: one language, one `main`, the embedded stylesheet, no other file. Browsers do not frame the page, and
 * do not send its URL as a referrer.
 */
export function renderPage(page: GatewayPage): Representation {
  const { title, apiName, body, script, connects } = page
  const sources = [
    `style-src ${STYLE_SOURCE}`,
    ...(script === undefined ? [] : [`script-src ${sourceOf(script)}`]),
    ...(connects === undefined ? [] : [`connect-src ${["'self'", ...connects].join(' ')}`]),
  ]
  // The representation has its own cache headers: the pages are equal for all clients.
  const {
    'content-type': contentType = '',
    'cache-control': _noStore,
    'x-content-type-options': _type,
    ...headers
  } = securityHeaders(sources, [])
  const head = html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${apiName}</title>`
  // The browser must receive style and script byte for byte, because the policy contains their hashes.
  const markup = `<!doctype html>
<html lang="en">
<head>
${head}
<style>${PAGE_STYLE}</style>
</head>
<body>
${navigation(page)}
<main id="content" tabindex="-1">
${body}
</main>${script === undefined ? '' : `\n<script type="module">${script}</script>`}
</body>
</html>
`
  const found = representation(
    contentType,
    markup,
    [...(page.headers ?? []), ...Object.entries(headers).flat()],
    page.isStored === false ? 'no-store' : undefined,
  )
  return page.status === undefined ? found : Object.freeze({ ...found, status: page.status })
}

function navigation({ apiName, path, hasReference }: GatewayPage): Html {
  const pages = [
    ...(hasReference ? [['/docs', 'API reference'] as const] : []),
    ['/auth.md', 'Get a token'] as const,
    ...(hasReference ? [['/docs/errors', 'Errors'] as const] : []),
  ]
  return html`<a class="skip unseen" href="#content">Skip to the content</a>
<header><div class="bar">
<a class="home" href="/">${apiName}</a>
<nav aria-label="Pages"><ul>${pages.map(
    ([href, text]) =>
      html`<li><a href="${href}"${path === href && html` aria-current="page"`}>${text}</a></li>`,
  )}</ul></nav>
</div></header>`
}

/** Returns the CSP source of an embedded script or stylesheet. CSP Level 3 section 8.4. */
function sourceOf(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}
