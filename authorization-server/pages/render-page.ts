import { type Html, html } from './html.ts'
import { type Locale, message } from './messages/message.ts'
import { PAGE_STYLE } from './page-style.ts'

export type Page = {
  /** Text of the `h1`. The window title contains this text and the service name. */
  readonly title: Html | string
  /** Content of the `h1`. Default: `title`. */
  readonly heading?: Html
  readonly isWide?: boolean
  readonly serviceName: string
  readonly locale: Locale
  readonly body: Html
  /** Id of the request in the footer, so that a person can quote the id in a support request. */
  readonly requestId: string | undefined
}

/** Renders the document: one language, one `h1`, one `main`, the embedded stylesheet, no script. */
export function renderPage(page: Page): string {
  const { title, serviceName, body, locale, requestId } = page
  const head = html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · ${serviceName}</title>`
  const main = html`<main${page.isWide === true && html` class="wide"`}>
<p class="service">${serviceName}</p>
<h1>${page.heading ?? title}</h1>
${body}
</main>
${requestId !== undefined && html`<footer>${message(locale, 'page.request', { id: requestId })}</footer>`}`
  // The browser must receive the stylesheet byte for byte, because the content security policy contains its hash.
  return `<!doctype html>
<html lang="${locale}">
<head>
${head}
<style>${PAGE_STYLE}</style>
</head>
<body>
${main}
</body>
</html>
`
}
