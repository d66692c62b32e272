import { escapeHtml, type Heading } from './markdown.ts'
import type { Entry, Group } from './navigation.ts'
import { addressOf, INDEX, relativeUrl } from './sources.ts'

export type Page = {
  readonly address: string
  readonly title: string
  readonly description: string
  readonly html: string
  readonly headings: readonly Heading[]
}
export type Site = { readonly navigation: readonly Group[]; readonly version: string }

/** The page loads nothing from other origins, and contains no inline script or style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

export function renderPage(page: Page, { navigation, version }: Site): string {
  const to = (address: string) => relativeUrl(page.address, address)
  const title = page.address === addressOf(INDEX) ? 'Scopegate · Documentation' : `${page.title} · Scopegate`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(page.description.slice(0, 300))}">
<link rel="icon" href="${to('assets/icon.svg')}">
<link rel="stylesheet" href="${to('assets/site.css')}">
<script src="${to('assets/theme.js')}"></script>
<script type="module" src="${to('assets/site.js')}"></script>
</head>
<body data-root="${to('index.html').replace(/index\.html$/, '')}">
<a class="skip" href="#page.content">Skip to the content</a>
<header>
<a class="brand" href="${to('index.html')}">Scopegate</a>
<search>
<input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false" disabled>
<div class="results" hidden></div>
<p class="unseen" role="status"></p>
</search>
<label class="version"><span class="unseen">Version</span><select disabled><option selected>${escapeHtml(version)}</option></select></label>
<button type="button" class="scheme" hidden></button>
</header>
<div class="columns">
<details class="menu"><summary>Menu</summary>
<nav aria-label="Documentation">
${navigation.map((group) => renderGroup(group, page.address, 2)).join('\n')}
</nav>
</details>
<main id="page.content">
${page.html}</main>
${renderContents(page.headings)}</div>
<footer><p>Scopegate ${escapeHtml(version)}. Apache License 2.0.</p></footer>
</body>
</html>
`
}

function renderGroup(group: Group, address: string, level: number): string {
  const inner = group.groups.map((one) => renderGroup(one, address, level + 1)).join('\n')
  return `<h${level}>${escapeHtml(group.title)}</h${level}>
<ul>
${group.entries.map((entry) => renderEntry(entry, address)).join('\n')}
</ul>
${inner}`
}

/** The pages below an index are visible only on the index and on these pages, because there are hundreds. */
function renderEntry({ path, title, below }: Entry, address: string): string {
  const isOpen = [path, ...below.map((entry) => entry.path)].some((one) => addressOf(one) === address)
  const list =
    below.length > 0 && isOpen
      ? `\n<ul>\n${below.map((entry) => renderEntry(entry, address)).join('\n')}\n</ul>`
      : ''
  const current = addressOf(path) === address ? ' aria-current="page"' : ''
  return `<li><a href="${relativeUrl(address, addressOf(path))}"${current}>${escapeHtml(title)}</a>${list}</li>`
}

function renderContents(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  )
  return `<aside class="contents"><nav aria-labelledby="page.contents"><h2 id="page.contents">On this page</h2>
<ul>
${items.join('\n')}
</ul></nav></aside>
`
}
