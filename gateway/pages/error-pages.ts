import { html } from '../../platform/pages/html.ts'
import type { Representation } from '../discovery/discovery-document.ts'
import { ERROR_GUIDE, type ErrorExplanation } from './error-guide.ts'
import { renderPage } from './render-page.ts'

export const ERRORS_PATH = '/docs/errors'

const UNKNOWN = ''

const CODES: ReadonlyMap<string, ErrorExplanation> = new Map(Object.entries(ERROR_GUIDE))

/** Returns the error code, or an empty string for a text that is not an error code of the gateway. */
export function errorCodeOf(text: string | undefined): string {
  return text !== undefined && CODES.has(text) ? text : UNKNOWN
}

/** Renders the list of all error codes. */
export function errorIndexPage(apiName: string): Representation {
  const body = html`<h1>Errors</h1>
<p class="lead">An error of the gateway is a JSON object with <code>error</code>, <code>error_description</code> and
<code>request_id</code>. The header <code>X-Scopegate-Error: 1</code> marks these errors. Errors without this header come
from the service behind the gateway.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Error codes"><table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${[...CODES].map(
    ([code, { statuses, title }]) =>
      html`<tr><td><a href="${ERRORS_PATH}/${code}"><code>${code}</code></a></td><td>${statuses.join(', ')}</td><td>${title}</td></tr>\n`,
  )}</tbody>
</table></div>`
  return renderPage({ title: 'Errors', apiName, path: ERRORS_PATH, hasReference: true, body })
}

/**
 * Renders the page of an error code.
 * @returns a page with status 404 for an unknown code. The page does not contain the code.
 */
export function errorPage(code: string, apiName: string): Representation {
  const explanation = CODES.get(code)
  if (explanation === undefined)
    return renderPage({
      title: 'Unknown error code',
      apiName,
      path: '',
      hasReference: true,
      status: 404,
      body: html`<h1>Unknown error code</h1>
<p class="lead">The gateway has no error with this code. The error may come from the service behind the gateway.</p>
<p><a href="${ERRORS_PATH}">All error codes of the gateway</a></p>`,
    })
  const { statuses, title, causes, client, operator } = explanation
  const list = (sentences: readonly string[]) =>
    html`<ul>${sentences.map((one) => html`<li>${one}</li>`)}</ul>`
  const body = html`<p class="eyebrow"><code>${code}</code> · status ${statuses.join(', ')}</p>
<h1>${title}</h1>
<h2>Cause</h2>
${list(causes)}
<h2>Remedy for clients</h2>
${list(client)}
<h2>Remedy for operators</h2>
${list(operator)}
<p><a href="${ERRORS_PATH}">All error codes</a> · <a href="/auth.md">Get a token</a></p>`
  return renderPage({ title: code, apiName, path: `${ERRORS_PATH}/${code}`, hasReference: true, body })
}
