import { type Html, html } from '../../platform/pages/html.ts'
import { type Locale, message } from '../pages/messages/message.ts'

export type SignInPage = {
  readonly title: Html
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
  readonly locale: Locale
  readonly username: string
  readonly failed: boolean
  readonly local?: boolean
  readonly providers?: readonly { readonly name: string; readonly title: string }[]
  readonly problem?: Html | undefined
  readonly formToken: string
  readonly path: string
}): SignInPage {
  const { failed, formToken, locale, path, username, local = true, providers = [], problem } = options
  const clientName = options.documentHost ?? options.clientName
  const app =
    clientName === undefined
      ? message(locale, 'signIn.unnamedApp')
      : html`<strong><bdi>${clientName}</bdi></strong>`
  const invalid = failed ? html` aria-invalid="true" aria-describedby="wrong"` : undefined
  // Focuses the first field that is empty. With providers, their buttons come first, so no field gets the focus.
  const focus = providers.length > 0 ? undefined : username === '' ? 'username' : 'password'
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`
  const cancel = html`<button class="quiet" form="cancel">${message(locale, 'signIn.cancel')}</button>`
  const buttons = providers.map(
    ({ name, title }, index) => html`<form method="post" action="${path}/provider/${name}">
${token}
<div class="actions">
<button>${message(locale, 'signIn.withProvider', { title })}</button>
${!local && index === providers.length - 1 && cancel}
</div>
</form>
`,
  )
  const fields = html`<form method="post" action="${path}/sign-in">
${token}
<label for="username">${message(locale, 'signIn.username')}</label>
<input type="text" id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required${invalid}${focus === 'username' && html` autofocus`}>
<label for="password">${message(locale, 'signIn.password')}</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required${invalid}${focus === 'password' && html` autofocus`}>
<div class="actions">
<button>${message(locale, 'signIn.submit')}</button>
${cancel}
</div>
</form>
`
  return {
    title: message(locale, failed || problem !== undefined ? 'signIn.failedTitle' : 'signIn.title'),
    body: html`<p>${message(locale, 'signIn.continueTo', { app })}</p>
${failed && html`<p class="wrong" id="wrong" role="alert">${message(locale, 'signIn.wrong')}</p>`}${problem !== undefined && html`<p class="wrong" role="alert">${problem}</p>`}
${buttons}${local && fields}<form method="post" action="${path}/cancel" id="cancel">
${token}
</form>`,
  }
}
