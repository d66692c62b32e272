import { displayText, type Html, html } from '../../platform/pages/html.ts'
import type { Look } from './look.ts'
import type { MessageKey } from './messages/en.ts'
import { isMessageKey, type Locale, message } from './messages/message.ts'
import { renderPage } from './render-page.ts'

export type PageError = {
  /** An OAuth error code, or a code of these pages; see `error.*` in messages/en.ts. */
  readonly error: string
  /** Text for the developer of the app: exact, and without secrets. */
  readonly description: string
}

/**
 * Renders the page for an interaction that cannot continue.
 * The page says what happened and what to do, and shows the request id. The protocol details are collapsed.
 */
export function renderErrorPage(
  options: PageError & {
    readonly serviceName: string
    readonly look?: Look | undefined
    readonly locale: Locale
    readonly requestId: string | undefined
  },
): string {
  const { error, description, locale, look, serviceName, requestId } = options
  const details = displayText(description)
  return renderPage({
    title: errorText(locale, error, 'title'),
    serviceName,
    look,
    locale,
    requestId,
    body: html`<p>${errorText(locale, error, 'advice')}</p>
${
  details !== undefined &&
  html`<details>
<summary>${message(locale, 'error.details')}</summary>
<pre lang="en">${error}: ${details}</pre>
</details>`
}`,
  })
}

/** Returns a text for an error code. An unknown code is an error of the app. */
function errorText(locale: Locale, error: string, part: 'title' | 'advice'): Html {
  const key = `error.${error}.${part}`
  return message(locale, isErrorKey(key) ? key : `error.app.${part}`)
}

type ErrorKey = Extract<MessageKey, `error.${string}.${string}`>

function isErrorKey(key: string): key is ErrorKey {
  return isMessageKey(key)
}
