import { type Html, html } from '../../platform/pages/html.ts'

/**
 * Renders the Markdown of the gateway's own documents: headings, paragraphs, tables, lists, fenced blocks, code spans
 * and URLs. Escapes all text. Other Markdown remains text, so text of a configuration cannot create markup.
 */
export function renderMarkdown(markdown: string): Html {
  const blocks: Html[] = []
  const lines = markdown.split('\n')
  let at = 0
  /** Takes the lines from the current line as long as they match. */
  const take = (matches: (line: string) => boolean): readonly string[] => {
    const start = at
    while (at < lines.length && matches(lines[at] ?? '')) at += 1
    return lines.slice(start, at)
  }
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const heading = /^(#{1,3}) (.*)$/.exec(line)
    if (line === '') at += 1
    else if (heading !== null) {
      at += 1
      blocks.push(renderHeading(heading[1]?.length ?? 1, heading[2] ?? ''))
    } else if (line.startsWith('```')) {
      at += 1
      const code = take((one) => !one.startsWith('```')).join('\n')
      at += 1
      blocks.push(html`<pre><code>${code}</code></pre>`)
    } else if (line.startsWith('|')) blocks.push(renderTable(take((one) => one.startsWith('|'))))
    else if (line.startsWith('- '))
      blocks.push(
        html`<ul>${take((one) => one.startsWith('- ')).map((one) => html`<li>${renderText(one.slice(2))}</li>`)}</ul>`,
      )
    else
      blocks.push(
        html`<p>${renderText(take((one) => one !== '' && !/^(?:```|\||#)/.test(one)).join('\n'))}</p>`,
      )
  }
  return html`${blocks.map((block) => html`${block}\n`)}`
}

function renderHeading(level: number, text: string): Html {
  const id = text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  if (level === 1) return html`<h1>${renderText(text)}</h1>`
  return level === 2
    ? html`<h2 id="${id}">${renderText(text)}</h2>`
    : html`<h3 id="${id}">${renderText(text)}</h3>`
}

function renderTable(rows: readonly string[]): Html {
  const [head = [], , ...body] = rows.map((row) =>
    row
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  )
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${head[0] ?? 'Table'}"><table>
<thead><tr>${head.map((cell) => html`<th scope="col">${renderText(cell)}</th>`)}</tr></thead>
<tbody>${body.map((row) => html`<tr>${row.map((cell) => html`<td>${renderText(cell)}</td>`)}</tr>`)}</tbody>
</table></div>`
}

/** Matches a code span, or an http or https URL without the punctuation at its end. */
const SPANS = /`([^`]+)`|(https?:\/\/[^\s`|<>"]*[^\s`|<>".,;:)])/g

function renderText(text: string): Html {
  const parts: (Html | string)[] = []
  let end = 0
  for (const found of text.matchAll(SPANS)) {
    const [all, code, url] = found
    parts.push(text.slice(end, found.index))
    parts.push(code === undefined ? html`<a href="${url}">${url}</a>` : html`<code>${code}</code>`)
    end = found.index + all.length
  }
  return html`${parts}${text.slice(end)}`
}
