// Builds the documentation site. Usage: npm run site -- [--version VERSION] [--out FOLDER]. Writes FOLDER/VERSION/, and
// the list of all versions in FOLDER. Default: the version of package.json, and site/dist/.
import { cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import MiniSearch from 'minisearch'
import { SEARCH_OPTIONS } from './assets/search-options.js'
import { escapeHtml, highlightCode, type Part, renderMarkdown } from './markdown.ts'
import { readNavigation } from './navigation.ts'
import { renderPage, type Site } from './page.ts'
import { absolutePath, addressOf, copyAddressOf, listPages, readSource } from './sources.ts'

const { version: released } = JSON.parse(readSource('package.json')) as { readonly version: string }
const { values } = parseArgs({
  options: {
    version: { type: 'string', default: released },
    out: { type: 'string', default: join(import.meta.dirname, 'dist') },
  },
})
const { version, out } = values
if (!/^[\w.-]*\w$/.test(version) || version.startsWith('.'))
  throw new Error(`--version must consist of letters, digits, dots and hyphens (got ${version})`)

const started = Date.now()
const folder = join(out, version)
const site: Site = { navigation: readNavigation(), version }
const paths = listPages()
const pages = new Set(paths)
rmSync(folder, { recursive: true, force: true })

const rendered = paths.map((path) => ({
  path,
  address: addressOf(path),
  ...renderMarkdown(readSource(path), path, pages),
}))
for (const page of rendered) write(page.address, renderPage(page, site))
for (const file of new Set(rendered.flatMap(({ files }) => files))) copy(file)
write('search-index.json', searchIndex(rendered))
cpSync(join(import.meta.dirname, 'assets'), join(folder, 'assets'), { recursive: true })
cpSync(fileURLToPath(import.meta.resolve('minisearch')), join(folder, 'assets', 'minisearch.js'))
listVersions()
console.log(`site: ${rendered.length} pages in ${folder} after ${Date.now() - started} ms`)

function write(address: string, content: string): void {
  const file = join(folder, address)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Copies an image. Writes a page with the text of any other file. */
function copy(path: string): void {
  const address = copyAddressOf(path)
  if (extname(path) === extname(address)) {
    mkdirSync(dirname(join(folder, address)), { recursive: true })
    cpSync(absolutePath(path), join(folder, address))
    return
  }
  const title = posix.basename(path)
  const code = highlightCode(readSource(path), extname(path).slice(1))
  const html = `<h1>${escapeHtml(title)}</h1>\n<p><code>${escapeHtml(path)}</code></p>\n<pre class="wide"><code>${code}</code></pre>\n`
  write(address, renderPage({ address, title, description: `The file ${path}`, html, headings: [] }, site))
}

type Searchable = { readonly address: string; readonly title: string; readonly parts: readonly Part[] }

function searchIndex(all: readonly Searchable[]): string {
  const index = new MiniSearch(SEARCH_OPTIONS)
  index.addAll(
    all
      .flatMap(({ address, title, parts }) =>
        parts.map(({ anchor, heading, text }) => ({
          url: anchor === '' ? address : `${address}#${anchor}`,
          page: title,
          heading,
          text,
        })),
      )
      .map((part, id) => ({ id, ...part })),
  )
  return JSON.stringify(index)
}

/** Lists the versions in the folder, newest first. A page of any version reads this list, so it knows later versions. */
function listVersions(): void {
  const versions = readdirSync(out)
    .filter((name) => statSync(join(out, name)).isDirectory())
    .toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }))
  writeFileSync(join(out, 'versions.json'), JSON.stringify(versions))
  const newest = versions[0] ?? version
  const first = `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url=${newest}/">\n<title>Scopegate · Documentation</title>\n<a href="${newest}/">Scopegate ${newest}</a>\n`
  writeFileSync(join(out, 'index.html'), first)
}
