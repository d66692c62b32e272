import { type Html, html } from '../pages/html.ts'

export type SignInPage = {
  readonly title: string
  readonly body: Html
}

/**
 * Renders the sign-in form. `clientName` and `username` are untrusted and shown as text.
 * @param options.failed true after a wrong user name or password. The page does not say which of the two is wrong.
 */
export function signInPage(options: {
  readonly clientName: string | undefined
  /** Host of the client document. The page then shows this host instead of the name. */
  readonly documentHost?: string | undefined
  readonly serviceName: string
  readonly username: string
  readonly failed: boolean
  readonly formToken: string
  readonly path: string
}): SignInPage {
  const { failed, formToken, path, username } = options
  const clientName = options.documentHost ?? options.clientName
  const invalid = failed ? html` aria-invalid="true" aria-describedby="wrong"` : undefined
  // Focuses the first field that is empty.
  const focusPassword = username !== ''
  return {
    title: failed ? 'Sign in: try again' : 'Sign in',
    body: html`<p>to continue to ${clientName === undefined ? 'an app without a name' : html`<strong><bdi>${clientName}</bdi></strong>`}</p>
${failed && html`<p class="wrong" id="wrong" role="alert">User name or password is wrong. Check both and try again.</p>`}
<form method="post" action="${path}/sign-in">
<input type="hidden" name="form_token" value="${formToken}">
<label for="username">User name</label>
<input type="text" id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required${invalid}${!focusPassword && html` autofocus`}>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required${invalid}${focusPassword && html` autofocus`}>
<div class="actions">
<button>Sign in</button>
<button class="quiet" form="cancel">Cancel</button>
</div>
</form>
<form method="post" action="${path}/cancel" id="cancel">
<input type="hidden" name="form_token" value="${formToken}">
</form>`,
  }
}
