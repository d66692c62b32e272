import t from 'tap'
import { renderErrorPage } from '../../../authorization-server/pages/render-error-page.ts'
import { renderPage } from '../../../authorization-server/pages/render-page.ts'
import { Html, html } from '../../../platform/pages/html.ts'

const withoutStyle = (markup: string): string => markup.replace(/<style>[^<]*/, '<style>')
const documentOf = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<style></style>
</head>
<body>
${body}
</body>
</html>
`

t.test('renderPage() renders the whole document', async (t) => {
  const page = {
    title: 'Title',
    serviceName: 'Service',
    body: html`<p>Body</p>`,
    locale: 'en',
    requestId: 'id',
  } as const
  t.equal(
    withoutStyle(renderPage(page)),
    documentOf(
      'Title · Service',
      `<main>
<p class="service">Service</p>
<h1>Title</h1>
<p>Body</p>
</main>
<footer>Request id</footer>`,
    ),
  )
  const wide = { ...page, heading: html`<i>Heading</i>`, isWide: true, requestId: undefined }
  t.equal(
    withoutStyle(renderPage(wide)),
    documentOf(
      'Title · Service',
      `<main class="wide">
<p class="service">Service</p>
<h1><i>Heading</i></h1>
<p>Body</p>
</main>
`,
    ),
  )
  t.match(renderPage({ ...page, isWide: false }), '\n<main>\n')
})

t.test('renderErrorPage() renders title, advice, details and request ID', async (t) => {
  const page = {
    serviceName: 'Service',
    locale: 'en',
    requestId: 'id',
    error: 'busy',
    description: 'why',
  } as const
  t.equal(
    withoutStyle(renderErrorPage(page)),
    documentOf(
      'Many people are signing in right now · Service',
      `<main>
<p class="service">Service</p>
<h1>Many people are signing in right now</h1>
<p>Nothing was changed. Go back, wait a few seconds and try again.</p>
<details>
<summary>Details for the app’s developer</summary>
<pre lang="en">busy: why</pre>
</details>
</main>
<footer>Request id</footer>`,
    ),
  )
})

t.test('renderErrorPage() has a title and advice for each error code', async (t) => {
  const cases: Readonly<Record<string, readonly [title: string, advice: string]>> = {
    interaction_expired: [
      'This page is no longer valid',
      'The page expired, or you finished already. Go back to the app and start again from there.',
    ],
    other_browser: [
      'This page belongs to another browser',
      'Finish sign-in in the browser where you started it, with cookies allowed. Go back to the app and start again from there.',
    ],
    wrong_step: ['This step is already complete', 'Go back to the app and start again from there.'],
    form_refused: [
      'We could not verify your request',
      'Nothing was changed. Allow cookies for this site, go back to the app and start again from there.',
    ],
    form_unreadable: [
      'We could not read your form',
      'Nothing was changed. Go back to the app and start again from there.',
    ],
    too_many_attempts: [
      'Too many attempts',
      'Sign-in is paused for a few minutes to protect the account. Wait, then go back and try again.',
    ],
    rate_limited: [
      'Too many sign-ins were started',
      'Too many sign-ins were started from your network. Nothing was shared. Wait a few minutes, then go back to the app and start again from there.',
    ],
    busy: [
      'Many people are signing in right now',
      'Nothing was changed. Go back, wait a few seconds and try again.',
    ],
    temporarily_unavailable: [
      'Sign-in does not work right now',
      'The problem is on our side. Nothing was changed. Wait a moment, go back and try again.',
    ],
    server_error: [
      'Something went wrong on our side',
      'Nothing was shared. Go back to the app and try again. If the error happens again, tell the operator of this service and quote the request ID below.',
    ],
    invalid_client: [
      'The app sent an invalid request',
      'You did nothing wrong, and nothing was shared. The developer of the app must correct the request with the details below.',
    ],
  }
  for (const [error, [title, advice]] of Object.entries(cases)) {
    const markup = renderErrorPage({
      error,
      description: '',
      serviceName: 'Service',
      locale: 'en',
      requestId: undefined,
    })
    t.match(markup, `<h1>${title}</h1>\n<p>${advice}</p>\n\n</main>`, error)
  }
})

t.test('only html`` creates markup', async (t) => {
  t.throws(() => Reflect.construct(Html, ['<b>', undefined]), {
    name: 'TypeError',
    message: 'create markup only with html``',
  })
})
