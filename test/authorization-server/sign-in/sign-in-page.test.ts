import t from 'tap'
import { signInPage } from '../../../authorization-server/sign-in/sign-in-page.ts'
import { html } from '../../../platform/pages/html.ts'

const OPTIONS = { locale: 'en', formToken: 'token', path: '/oauth/interaction/uid' } as const
const REST = `<div class="actions">
<button>Sign in</button>
<button class="quiet" form="cancel">Cancel</button>
</div>
</form>
<form method="post" action="/oauth/interaction/uid/cancel" id="cancel">
<input type="hidden" name="form_token" value="token">
</form>`

t.test('signInPage() renders an empty form with the focus on the user name', async (t) => {
  const { title, body } = signInPage({ ...OPTIONS, clientName: 'App', username: '', failed: false })
  t.equal(String(title), 'Sign in')
  t.equal(
    String(body),
    `<p>to continue to <strong><bdi>App</bdi></strong></p>

<form method="post" action="/oauth/interaction/uid/sign-in">
<input type="hidden" name="form_token" value="token">
<label for="username">User name</label>
<input type="text" id="username" name="username" value="" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required autofocus>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required>
${REST}`,
  )
})

t.test('signInPage() keeps the user name after a failure, with the focus on the password', async (t) => {
  const { title, body } = signInPage({ ...OPTIONS, clientName: undefined, username: 'alice', failed: true })
  t.equal(String(title), 'Sign in: try again')
  t.equal(
    String(body),
    `<p>to continue to an app without a name</p>
<p class="wrong" id="wrong" role="alert">User name or password is wrong. Check both and try again.</p>
<form method="post" action="/oauth/interaction/uid/sign-in">
<input type="hidden" name="form_token" value="token">
<label for="username">User name</label>
<input type="text" id="username" name="username" value="alice" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required aria-invalid="true" aria-describedby="wrong">
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required aria-invalid="true" aria-describedby="wrong" autofocus>
${REST}`,
  )
})

const PROVIDERS = [
  { name: 'company', title: 'Example account' },
  { name: 'other', title: '<Other>' },
]
const BUTTON = (
  name: string,
  text: string,
  cancel: string,
) => `<form method="post" action="/oauth/interaction/uid/provider/${name}">
<input type="hidden" name="form_token" value="token">
<div class="actions">
<button>Sign in with ${text}</button>
${cancel}
</div>
</form>
`

t.test(
  'signInPage() shows a button for each provider above the form, and no field has the focus',
  async (t) => {
    const { body } = signInPage({
      ...OPTIONS,
      clientName: 'App',
      username: '',
      failed: false,
      providers: PROVIDERS,
    })
    const buttons = BUTTON('company', 'Example account', '') + BUTTON('other', '&#60;Other&#62;', '')
    t.match(String(body), `</p>\n\n${buttons}<form method="post" action="/oauth/interaction/uid/sign-in">`)
    t.notMatch(String(body), 'autofocus')
    t.ok(String(body).endsWith(REST))
  },
)

t.test('signInPage() without local accounts shows the providers and one Cancel button', async (t) => {
  const { title, body } = signInPage({
    ...OPTIONS,
    clientName: 'App',
    username: '',
    failed: false,
    local: false,
    providers: PROVIDERS,
    problem: html`It failed &amp; why.`,
  })
  t.equal(String(title), 'Sign in: try again')
  const cancel = '<button class="quiet" form="cancel">Cancel</button>'
  t.equal(
    String(body),
    `<p>to continue to <strong><bdi>App</bdi></strong></p>
<p class="wrong" role="alert">It failed &amp; why.</p>
${BUTTON('company', 'Example account', '')}${BUTTON('other', '&#60;Other&#62;', cancel)}<form method="post" action="/oauth/interaction/uid/cancel" id="cancel">
<input type="hidden" name="form_token" value="token">
</form>`,
  )
})
