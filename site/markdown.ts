import { existsSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import GithubSlugger, { slug } from 'github-slugger'
import highlight from 'highlight.js/lib/common'
import apache from 'highlight.js/lib/languages/apache'
import http from 'highlight.js/lib/languages/http'
import nginx from 'highlight.js/lib/languages/nginx'
import properties from 'highlight.js/lib/languages/properties'
import markdownIt, { type Token } from 'markdown-it'
import { absolutePath, addressOf, copyAddressOf, readSource, relativeUrl, titleOf } from './sources.ts'

for (const [name, language] of Object.entries({ apache, http, nginx, properties }))
  highlight.registerLanguage(name, language)

/** Languages of code blocks that the library knows by another name. */
const ALIASES: Readonly<Record<string, string>> = { env: 'properties', console: 'bash', traefik: 'yaml' }

/** A part of a page that the search finds: a section, or a row of a table whose first cell is code. */
export type Part = { readonly anchor: string; readonly heading: string; readonly text: string }
export type Heading = { readonly level: number; readonly id: string; readonly text: string }

export type Rendered = {
  readonly title: string
  /** The first paragraph as text. */
  readonly description: string
  readonly html: string
  readonly headings: readonly Heading[]
  readonly parts: readonly Part[]
  /** Files of the repository to which the page links, and that are not pages. */
  readonly files: readonly string[]
}

const md = markdownIt({ html: false, highlight: highlightCode })
// `<br>` is the only HTML in our pages. A table cell has no other line break.
md.inline.ruler.before('html_inline', 'br', (state, silent) => {
  if (!state.src.startsWith('<br>', state.pos)) return false
  if (!silent) state.push('hardbreak', 'br', 0)
  state.pos += '<br>'.length
  return true
})
// Comments mark the generated parts of a page.
md.block.ruler.before('paragraph', 'comment', (state, line) => {
  const text = state.src.slice(state.bMarks[line], state.eMarks[line])
  if (!/^<!--.*-->$/.test(text)) return false
  state.line = line + 1
  return true
})
md.renderer.rules.table_open = () => '<div class="wide"><table>\n'
md.renderer.rules.table_close = () => '</table></div>\n'
// A header without text names no column.
md.renderer.rules.th_open = (tokens, index) => (tokens[index + 1]?.content === '' ? '<td>' : '<th>')
md.renderer.rules.th_close = (tokens, index) => (tokens[index - 1]?.content === '' ? '</td>' : '</th>')
md.renderer.rules.fence = (tokens, index) => {
  const { info = '', content = '' } = tokens[index] ?? {}
  const [language = '', file] = info.split(' ')
  const caption = file === undefined ? '' : `<figcaption>${escapeHtml(file)}</figcaption>`
  return `<figure>${caption}<pre class="wide"><code>${highlightCode(content, language)}</code></pre></figure>\n`
}

export const escapeHtml = (text: string) => md.utils.escapeHtml(text)

export function highlightCode(code: string, language: string): string {
  const name = ALIASES[language] ?? language
  return highlight.getLanguage(name) === undefined
    ? escapeHtml(code)
    : highlight.highlight(code, { language: name }).value
}

/**
 * Renders a page of the repository.
 * @throws {Error} if a link of the page has no target.
 */
export function renderMarkdown(markdown: string, path: string, pages: ReadonlySet<string>): Rendered {
  const tokens = md.parse(markdown, {})
  const files = new Set<string>()
  const inline = tokens.flatMap(({ children }) => children ?? [])
  for (const [index, token] of inline.entries())
    for (const name of ['href', 'src']) {
      const target = token.attrGet(name)
      if (target === null) continue
      token.attrSet(name, toSiteUrl(target, path, pages, files))
      const page = posix.join(posix.dirname(path), target.replace(/#.*/, ''))
      if (pages.has(page)) showTitle(inline[index + 1], page)
    }
  const headings = addAnchors(tokens)
  const parts = [...sectionsOf(tokens), ...rowsOf(tokens)]
  return {
    title: headings[0]?.text ?? '',
    description: textOf(tokens[tokens.findIndex(({ type }) => type === 'paragraph_open') + 1]),
    html: md.renderer.render(tokens, md.options, {}),
    headings: headings.slice(1),
    parts,
    files: [...files],
  }
}

/** Replaces the name of a file in the text of a link: a reader of the site knows the page by its title. */
function showTitle(text: Token | undefined, page: string): void {
  if (text === undefined || !/^[\w./-]+\.md$/.test(text.content)) return
  text.type = 'text'
  text.content = titleOf(readSource(page))
}

/** Converts a link between files of the repository to a link between addresses of the site. */
function toSiteUrl(url: string, from: string, pages: ReadonlySet<string>, files: Set<string>): string {
  if (/^[a-z]+:/.test(url) || url.startsWith('#')) return url
  const [link = '', anchor] = url.split('#')
  const target = posix.join(posix.dirname(from), decodeURI(link))
  const isFile = existsSync(absolutePath(target)) && statSync(absolutePath(target)).isFile()
  if (!isFile) throw new Error(`${from}: the link ${url} has no target`)
  if (!pages.has(target)) files.add(target)
  const address = pages.has(target) ? addressOf(target) : copyAddressOf(target)
  return `${relativeUrl(addressOf(from), address)}${anchor === undefined ? '' : `#${anchor}`}`
}

/** Gives each heading the anchor that GitHub derives, and each row that begins with code an anchor. */
function addAnchors(tokens: readonly Token[]): readonly Heading[] {
  const slugger = new GithubSlugger()
  const rows = new Set<string>()
  const headings: Heading[] = []
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const text = textOf(tokens[index + 1])
      const id = slugger.slug(text)
      token.attrSet('id', id)
      if (token.tag !== 'h1') addAnchorLink(tokens[index + 1], id, text)
      headings.push({ level: Number(token.tag.slice(1)), id, text })
    }
    const code = codeOfRow(tokens, index)
    if (code === undefined) continue
    const id = `${headings.findLast(({ level }) => level < 4)?.id}.${slug(code.replaceAll('.', '-'))}`
    if (!rows.has(id)) token.attrSet('id', id)
    rows.add(id)
  }
  return headings
}

function addAnchorLink(inline: Token | undefined, id: string, text: string): void {
  const link = md.parseInline(`[#](#${id})`, {})[0]?.children ?? []
  link[0]?.attrJoin('class', 'anchor')
  link[0]?.attrSet('aria-label', `Link to “${text}”`)
  // The stylesheet shows the mark, so that the text of the heading does not contain it.
  inline?.children?.push(...link.filter(({ type }) => type !== 'text'))
}

/** Returns the code with which a row begins. Returns `undefined` for another token. */
function codeOfRow(tokens: readonly Token[], index: number): string | undefined {
  const [row, , first] = tokens.slice(index, index + 3)
  if (row?.type !== 'tr_open' || first?.type !== 'inline') return undefined
  const [code] = first.children ?? []
  return code?.type === 'code_inline' ? code.content : undefined
}

function sectionsOf(tokens: readonly Token[]): readonly Part[] {
  const parts: Part[] = []
  for (const [index, token] of tokens.entries()) {
    const id = token.type === 'heading_open' ? token.attrGet('id') : null
    if (id !== null)
      parts.push({ anchor: token.tag === 'h1' ? '' : id, heading: textOf(tokens[index + 1]), text: '' })
    const last = parts.at(-1)
    if (last === undefined || token.type === 'heading_open' || tokens[index - 1]?.type === 'heading_open')
      continue
    const text = token.type === 'fence' ? token.content : textOf(token)
    if (text !== '') parts[parts.length - 1] = { ...last, text: `${last.text} ${text}` }
  }
  return parts
}

function rowsOf(tokens: readonly Token[]): readonly Part[] {
  return tokens.flatMap((token, index) => {
    const anchor = token.type === 'tr_open' ? token.attrGet('id') : null
    if (anchor === null) return []
    const end = tokens.findIndex(({ type }, at) => at > index && type === 'tr_close')
    const [first = '', ...rest] = tokens
      .slice(index, end)
      .filter(({ type }) => type === 'inline')
      .map(textOf)
    return [{ anchor, heading: first, text: rest.join(' ') }]
  })
}

/** Returns the text of an inline token, without marks. */
function textOf(token: Token | undefined): string {
  if (token?.type !== 'inline') return ''
  return (token.children ?? [])
    .map(({ type, content }) => {
      if (type === 'softbreak' || type === 'hardbreak') return ' '
      return type === 'text' || type === 'code_inline' ? content : ''
    })
    .join('')
}
