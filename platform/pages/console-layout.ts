import { CONSOLE_SCRIPT } from './console-script.ts'
import { CONSOLE_STYLE } from './console-style.ts'
import { type Html, html } from './html.ts'

export type ConsoleLayout = {
  /** The name and the service, such as `Example API gateway`. */
  readonly name: string
  readonly version: string
  /** The pages with a link in the navigation. */
  readonly links: readonly { readonly path: string; readonly title: string }[]
  /** The console of another service. Default: no link. */
  readonly otherConsole?: ConsoleLink | undefined
  /** A search field on each page, whose form opens a page of the console. */
  readonly search?: ConsoleSearch | undefined
}

export type ConsoleLink = { readonly url: string; readonly title: string }

export type ConsoleSearch = { readonly path: string; readonly parameter: string; readonly label: string }

/** Returns a link to another console. undefined: the configuration contains no address. */
export function linkTo(url: string | undefined, title: string): ConsoleLink | undefined {
  return url === undefined ? undefined : { url, title }
}

/** Renders the document of a page of a console. */
export function renderConsole(
  { name, version, links, otherConsole, search }: ConsoleLayout,
  page: {
    readonly heading: string
    /** Path of the marked link in the navigation. */
    readonly current: string | undefined
    readonly body: Html
    /** Target of the link to the same data as JSON. undefined: the page has no data. */
    readonly jsonHref?: string
    readonly isStatic: boolean
    /** Text above the content. */
    readonly notice?: string | undefined
    /** The form with which an operator signs out, or the link to sign in. */
    readonly access?: Html | undefined
  },
): string {
  const link = (one: { readonly path: string; readonly title: string }) =>
    html`<li><a href="${one.path}"${one.path === page.current && html` aria-current="page"`}>${one.title}</a></li>`
  const head = html`<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>${page.heading} · ${name}</title>`
  const body = html`<a class="skip unseen" href="#content">Skip to the content</a>
<div class="bar"><header><p>${name}</p><nav aria-label="Console"><ul>${links.map(link)}${otherConsole && html`<li class="other"><a href="${otherConsole.url}">${otherConsole.title}</a></li>`}</ul></nav>${search && searchForm(search)}${page.access}</header></div>
<main id="content" tabindex="-1">
<h1>${page.heading}</h1>
${page.notice !== undefined && html`<p class="notice" role="status">${page.notice}</p>`}
${page.body}
</main>
<footer>
${!page.isStatic && html`<p><span id="live-status" role="status">Reload the page for new values</span> <button id="live-switch" class="quiet" type="button" hidden>Pause updates</button></p>`}${page.jsonHref !== undefined && html`<p><a href="${page.jsonHref}">This page as JSON</a></p>`}
<p>Scopegate ${version}</p>
</footer>`
  const script = page.isStatic ? '' : `<script>${CONSOLE_SCRIPT}</script>\n`
  // The browser must receive the style and the script byte for byte, because the policy contains their hashes.
  return `<!doctype html>
<html lang="en">
<head>
${head}
<style>${CONSOLE_STYLE}</style>
</head>
<body>
${body}
${script}</body>
</html>
`
}

function searchForm({ path, parameter, label }: ConsoleSearch): Html {
  return html`<form class="search" role="search" action="${path}" method="get"><input type="search" name="${parameter}" aria-label="${label}" placeholder="${label}" required maxlength="128" autocomplete="off" spellcheck="false"> <button type="submit">Find</button></form>`
}
