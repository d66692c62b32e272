import { displayText, html } from './html.ts'
import { renderPage } from './render-page.ts'

export type PageError = {
  /** An OAuth error code, or a code of these pages; see WORDING. */
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
    readonly requestId: string | undefined
  },
): string {
  const { error, description, serviceName, requestId } = options
  const { title, advice: turn } = WORDING.get(error) ?? APP_MISTAKE
  const details = displayText(description)
  return renderPage({
    title,
    serviceName,
    requestId,
    body: html`<p>${turn}</p>
${
  details !== undefined &&
  html`<details>
<summary>Details for the app’s developer</summary>
<pre>${error}: ${details}</pre>
</details>`
}`,
  })
}

type Wording = { readonly title: string; readonly advice: string }

const APP_MISTAKE: Wording = {
  title: 'The app sent an invalid request',
  advice:
    'You did nothing wrong, and nothing was shared. The developer of the app must correct the request with the details below.',
}

const WORDING: ReadonlyMap<string, Wording> = new Map(
  Object.entries({
    interaction_expired: {
      title: 'This page is no longer valid',
      advice: 'The page expired, or you finished already. Go back to the app and start again from there.',
    },
    other_browser: {
      title: 'This page belongs to another browser',
      advice:
        'Finish sign-in in the browser where you started it, with cookies allowed. Go back to the app and start again from there.',
    },
    wrong_step: {
      title: 'This step is already complete',
      advice: 'Go back to the app and start again from there.',
    },
    form_refused: {
      title: 'We could not verify your request',
      advice:
        'Nothing was changed. Allow cookies for this site, go back to the app and start again from there.',
    },
    form_unreadable: {
      title: 'We could not read your form',
      advice: 'Nothing was changed. Go back to the app and start again from there.',
    },
    too_many_attempts: {
      title: 'Too many attempts',
      advice: 'Sign-in is paused for a few minutes to protect the account. Wait, then go back and try again.',
    },
    rate_limited: {
      title: 'Too many sign-ins were started',
      advice:
        'Too many sign-ins were started from your network. Nothing was shared. Wait a few minutes, then go back to the app and start again from there.',
    },
    busy: {
      title: 'Many people are signing in right now',
      advice: 'Nothing was changed. Go back, wait a few seconds and try again.',
    },
    temporarily_unavailable: {
      title: 'Sign-in does not work right now',
      advice: 'The problem is on our side. Nothing was changed. Wait a moment, go back and try again.',
    },
    server_error: {
      title: 'Something went wrong on our side',
      advice:
        'Nothing was shared. Go back to the app and try again. If the error happens again, tell the operator of this service and quote the request ID below.',
    },
  }),
)
