import { type Html, html } from './html.ts'
import { PAGE_STYLE } from './page-style.ts'

/** A page's own part. */
export type Page = {
  /** The `h1`, and with the service's name the window title. */
  readonly title: string
  /** Stands in place of the plain title in the `h1`. */
  readonly heading?: Html
  /** True for a page with columns. */
  readonly isWide?: boolean
  readonly serviceName: string
  readonly body: Html
  /** For the footer: what somebody who asks for help can quote. */
  readonly requestId: string | undefined
}

/** Writes a whole document: English, one `h1`, one `main`, the embedded stylesheet, no script. */
export function renderPage(page: Page): string {
  const { title, serviceName, body, requestId } = page
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
${requestId !== undefined && html`<footer>Request ${requestId}</footer>`}`
  // The stylesheet is ours and must reach the browser byte for byte: its hash stands in the policy.
  return `<!doctype html>
<html lang="en">
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
