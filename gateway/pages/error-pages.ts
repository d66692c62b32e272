import { type Html, html } from '../../platform/pages/html.ts'
import { ERRORS_PATH } from '../../policy-engine/match/free-pages.ts'
import type { Representation } from '../discovery/discovery-document.ts'
import type { ErrorExplanation } from './error-guide.ts'
import { errorGuides } from './error-guides.ts'
import { renderPage } from './render-page.ts'

const UNKNOWN = ''

export type ErrorPagesOptions = {
  readonly apiName: string
  readonly bundledAuthorizationServer: boolean
}

/** Returns the error code, or an empty string for a text that is not an error code of this installation. */
export function errorCodeOf(text: string | undefined, options: ErrorPagesOptions): string {
  return text !== undefined && errorGuides(options).some(({ codes }) => codes.has(text)) ? text : UNKNOWN
}

/** Renders the list of all error codes. */
export function errorIndexPage(options: ErrorPagesOptions): Representation {
  const body = html`<h1>Errors</h1>
<p class="lead">Each code has a page with its cause and its remedy. Several parts of the service can send the same
code, with different meanings.</p>
${errorGuides(options).map(
  ({ sender, about, codes }) => html`<h2>${sender}</h2>
<p>${about}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Error codes: ${sender}"><table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${[...codes].map(
    ([code, { statuses, title }]) =>
      html`<tr><td><a href="${ERRORS_PATH}/${code}"><code>${breakable(code)}</code></a></td><td>${statuses.join(', ')}</td><td>${title}</td></tr>\n`,
  )}</tbody>
</table></div>`,
)}`
  return renderPage({
    title: 'Errors',
    apiName: options.apiName,
    path: ERRORS_PATH,
    hasReference: true,
    body,
  })
}

/** Allows line breaks after the underscores of a code. */
function breakable(code: string): Html {
  return html`${code.split('_').map((word, index) => html`${index > 0 && html`_<wbr>`}${word}`)}`
}

/**
 * Renders the page of an error code, with a section for each sender of the code.
 * @returns a page with status 404 for an unknown code. The page does not contain the code.
 */
export function errorPage(code: string, options: ErrorPagesOptions): Representation {
  const { apiName } = options
  const sections = errorGuides(options).flatMap(({ sender, codes }) => {
    const explanation = codes.get(code)
    return explanation === undefined ? [] : [explanationOf(sender, explanation)]
  })
  if (sections.length === 0)
    return renderPage({
      title: 'Unknown error code',
      apiName,
      path: '',
      hasReference: true,
      status: 404,
      body: html`<h1>Unknown error code</h1>
<p class="lead">Scopegate has no error with this code. The error may come from the service behind the gateway.</p>
<p><a href="${ERRORS_PATH}">All error codes</a></p>`,
    })
  const body = html`<h1><code>${code}</code></h1>
${sections}
<p><a href="${ERRORS_PATH}">All error codes</a> · <a href="/auth.md">Get a token</a></p>`
  return renderPage({ title: code, apiName, path: `${ERRORS_PATH}/${code}`, hasReference: true, body })
}

function explanationOf(
  sender: string,
  { title, statuses, causes, client, operator }: ErrorExplanation,
): Html {
  const list = (heading: string, sentences: readonly string[]) =>
    html`<h3>${heading}</h3>\n<ul>${sentences.map((one) => html`<li>${one}</li>`)}</ul>\n`
  return html`<h2>${title}</h2>
<p class="hint">${sender} · status ${statuses.join(', ')}</p>
${list('Cause', causes)}${list('Remedy for clients', client)}${list('Remedy for operators', operator)}`
}
