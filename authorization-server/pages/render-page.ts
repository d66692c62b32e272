import { type Html, html } from '../../platform/pages/html.ts'
import { createLook, type Look } from './look.ts'
import { type Locale, message } from './messages/message.ts'

export type Page = {
  /** Text of the `h1`. The window title contains this text and the service name. */
  readonly title: Html | string
  /** Content of the `h1`. Default: `title`. */
  readonly heading?: Html
  readonly isWide?: boolean
  readonly serviceName: string
  /** Default: the look without settings of the operator. */
  readonly look?: Look | undefined
  readonly locale: Locale
  readonly body: Html
  /** Id of the request in the footer, so that a person can quote the id in a support request. */
  readonly requestId: string | undefined
}

/** Renders the document: one language, one `h1`, one `main`, the embedded stylesheet, no script. */
export function renderPage(page: Page): string {
  const { title, serviceName, body, locale, look = DEFAULT_LOOK } = page
  const head = html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · ${serviceName}</title>`
  const main = html`<main${page.isWide === true && html` class="wide"`}>
<p class="service">${look.logo !== undefined && html`<img src="${look.logo}" alt="">`}${serviceName}</p>
<h1>${page.heading ?? title}</h1>
${body}
</main>
${footer(page, look)}`
  // The browser must receive the stylesheet byte for byte, because the content security policy contains its hash.
  return `<!doctype html>
<html lang="${locale}">
<head>
${head}
<style>${look.style}</style>
</head>
<body>
${main}
</body>
</html>
`
}

export const DEFAULT_LOOK = createLook()

const LINKS = { help: 'page.help', terms: 'page.terms', privacy: 'page.privacy' } as const

function footer({ locale, requestId }: Page, { links }: Look): Html | undefined {
  const shown = (['help', 'terms', 'privacy'] as const).flatMap((name) => {
    const href = links[name]
    return href === undefined ? [] : [html`<a href="${href}">${message(locale, LINKS[name])}</a> `]
  })
  if (shown.length === 0 && requestId === undefined) return undefined
  const request = requestId !== undefined && message(locale, 'page.request', { id: requestId })
  return html`<footer>${shown.length > 0 && html`<p>${shown}</p>`}${request}</footer>`
}
