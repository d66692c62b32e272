import { type Html, html } from '../../platform/pages/html.ts'
import { type AddAccountRejection, PASSWORD_CHARACTERS } from '../accounts/accounts.ts'
import { type Locale, message } from '../pages/messages/message.ts'
import type { PasswordLink } from './password-links.ts'

/** Returns the reason why the typed passwords are not usable. */
export function describeProblem(
  locale: Locale,
  problem: AddAccountRejection['rejected'] | 'different',
): Html {
  if (problem === 'different') return message(locale, 'password.different')
  return problem === 'password_too_long'
    ? message(locale, 'password.long', { max: PASSWORD_CHARACTERS.max })
    : message(locale, 'password.short', { min: PASSWORD_CHARACTERS.min })
}

/** Renders the page on which the person sets the password of an account. `name` and `username` are shown as text. */
export function setPasswordPage(options: {
  readonly locale: Locale
  readonly account: { readonly username: string; readonly name: string }
  readonly serviceName: string
  /** Undefined: the person has typed no passwords yet. */
  readonly problem: Html | undefined
  readonly formToken: string
  readonly token: string
  readonly path: string
}): { readonly title: Html; readonly body: Html } {
  const { account, locale, path, problem, serviceName } = options
  const name = html`<strong><bdi>${account.name}</bdi></strong>`
  const described = html` aria-describedby="rules${problem !== undefined && ' wrong'}"`
  const invalid = problem !== undefined && html` aria-invalid="true"`
  return {
    title: message(locale, problem === undefined ? 'password.title' : 'password.failedTitle'),
    body: html`<p>${message(locale, 'password.account', { name, service: serviceName })}</p>
${problem !== undefined && html`<p class="wrong" id="wrong" role="alert">${problem}</p>`}<form method="post" action="${path}">
<input type="hidden" name="form_token" value="${options.formToken}">
<input type="hidden" name="token" value="${options.token}">
<label for="username">${message(locale, 'signIn.username')}</label>
<input type="text" id="username" name="username" value="${account.username}" autocomplete="username" readonly>
<p id="rules">${message(locale, 'password.rules', PASSWORD_CHARACTERS)}</p>
<label for="password">${message(locale, 'password.new')}</label>
<input type="password" id="password" name="password" autocomplete="new-password" maxlength="256" required autofocus${described}${invalid}>
<label for="repeated">${message(locale, 'password.repeated')}</label>
<input type="password" id="repeated" name="repeated" autocomplete="new-password" maxlength="256" required${described}${invalid}>
<div class="actions">
<button>${message(locale, 'password.submit')}</button>
</div>
</form>`,
  }
}

/** The server shows this page after it has set the password. */
export function passwordSetPage(
  locale: Locale,
  options: { readonly purpose: PasswordLink['purpose']; readonly accountPath: string },
): { readonly title: Html; readonly body: Html } {
  const { purpose, accountPath } = options
  return {
    title: message(locale, 'password.doneTitle'),
    body: html`<p>${message(locale, purpose === 'reset' ? 'password.reset' : 'password.invited')}</p>
<p><a href="${accountPath}">${message(locale, 'account.signInAgain')}</a></p>`,
  }
}
