import { type Html, html } from './html.ts'

/**
 * Wraps the form with the filters of a list. A narrow window shows the filters only if the person opens them, or if the
 * query sets a filter. A wide window always shows the filters, if the browser supports the selector `::details-content`.
 * @param names the parameters of the query.
 */
export function filterDisclosure(form: Html, query: URLSearchParams, names: readonly string[]): Html {
  const isSet = names.some((name) => query.get(name))
  return html`<details class="filters"${isSet && html` open`}><summary>Filters</summary>
${form}
</details>`
}
