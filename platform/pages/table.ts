import { type Html, html } from './html.ts'

export type Column = {
  readonly title: string
  /** Whether the column contains numbers, which are aligned at the right edge. */
  readonly isCount?: boolean
}

/** Renders a table. In a narrow window, each row becomes a list with the titles of the columns. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (Html | string | number)[])[],
): Html {
  const kind = ({ isCount }: Column) => isCount === true && html` class="count"`
  const cell = (content: Html | string | number, index: number) => {
    const column = columns[index] ?? { title: '' }
    return html`<td${kind(column)} data-title="${column.title}"><div>${content}</div></td>`
  }
  return html`<table>
<thead><tr>${columns.map((column) => html`<th scope="col"${kind(column)}>${column.title}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table>`
}
