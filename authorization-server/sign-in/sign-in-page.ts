import { type Html, html } from '../pages/html.ts'

export type SignInPage = {
  readonly title: string
  readonly body: Html
}

/**
 * Renders the sign-in page: a button for each provider, and a form for local accounts. `clientName` and `username` are
 * untrusted and shown as text.
 * @param options.failed true after a wrong user name or password. The page does not say which of the two is wrong.
 * @param options.local false: the page has no form for local accounts. Default: true.
 * @param options.problem the reason why the sign-in through a provider failed, and what to do.
 */
export function signInPage(options: {
  readonly clientName: string | undefined
  /** Host of the client document. The page then shows this host instead of the name. */
  readonly documentHost?: string | undefined
  readonly serviceName: string
  readonly username: string
  readonly failed: boolean
  readonly local?: boolean
  readonly providers?: readonly { readonly name: string; readonly title: string }[]
  readonly problem?: string | undefined
  readonly formToken: string
  readonly path: string
}): SignInPage {
  const { failed, formToken, path, username, local = true, providers = [], problem } = options
  const clientName = options.documentHost ?? options.clientName
  const invalid = failed ? html` aria-invalid="true" aria-describedby="wrong"` : undefined
  // Focuses the first field that is empty. With providers, their buttons come first, so no field gets the focus.
  const focus = providers.length > 0 ? undefined : username === '' ? 'username' : 'password'
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`
  const cancel = html`<button class="quiet" form="cancel">Cancel</button>`
  const buttons = providers.map(
    ({ name, title }, index) => html`<form method="post" action="${path}/provider/${name}">
${token}
<div class="actions">
<button>Sign in with ${title}</button>
${!local && index === providers.length - 1 && cancel}
</div>
</form>
`,
  )
  const fields = html`<form method="post" action="${path}/sign-in">
${token}
<label for="username">User name</label>
<input type="text" id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required${invalid}${focus === 'username' && html` autofocus`}>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required${invalid}${focus === 'password' && html` autofocus`}>
<div class="actions">
<button>Sign in</button>
${cancel}
</div>
</form>
`
  return {
    title: failed || problem !== undefined ? 'Sign in: try again' : 'Sign in',
    body: html`<p>to continue to ${clientName === undefined ? 'an app without a name' : html`<strong><bdi>${clientName}</bdi></strong>`}</p>
${failed && html`<p class="wrong" id="wrong" role="alert">User name or password is wrong. Check both and try again.</p>`}${problem !== undefined && html`<p class="wrong" role="alert">${problem}</p>`}
${buttons}${local && fields}<form method="post" action="${path}/cancel" id="cancel">
${token}
</form>`,
  }
}
