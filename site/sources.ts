import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

const ROOT = dirname(import.meta.dirname)

/** The page that defines the navigation, and that is the first page of the site. */
export const INDEX = 'docs/README.md'

/**
 * Returns the path of each Markdown page of the site: all pages of docs/, and the other pages of its index. Paths start
 * at the root of the repository.
 */
export function listPages(): readonly string[] {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => posix.join('docs', name.replaceAll('\\', '/')))
  const others = [...readSource(INDEX).matchAll(/\]\((\.\.\/[^()#\s]+\.md)\)/g)].map(([, link = '']) =>
    posix.join('docs', link),
  )
  return [...docs.toSorted(), ...new Set(others)]
}

export function readSource(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Returns the absolute path of a file of the repository. */
export function absolutePath(path: string): string {
  return join(ROOT, path)
}

/** Returns the address of a page, relative to the root of the site. Example: `docs/tls.md` has `tls.html`. */
export function addressOf(path: string): string {
  return path
    .replace(/^README\.md$/, 'overview.md')
    .replace(/^docs\//, '')
    .replace(/(^|\/)README\.md$/, '$1index.md')
    .replace(/\.md$/, '.html')
}

/** Returns the address of the copy of a file that is not a page: an image, or a page with the text of the file. */
export function copyAddressOf(path: string): string {
  const isImage = /\.(?:png|svg)$/.test(path)
  return isImage ? path.replace(/^docs\//, '') : `files/${path}.html`
}

/** Returns a relative URL from one address of the site to another. */
export function relativeUrl(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to)
}

/** Returns the title of a page: its first heading, without marks. */
export function titleOf(markdown: string): string {
  return (/^# (.+)$/m.exec(markdown)?.[1] ?? '').replaceAll('`', '')
}
