import { encode } from 'uqr'
import { type Html, html } from '../../platform/pages/html.ts'
import { groupsOfFour } from '../accounts/second-factors.ts'
import { encodeTotpSecret, totpLink } from '../accounts/totp.ts'
import { type Locale, message } from '../pages/messages/message.ts'

type RenderedPage = { readonly title: Html; readonly body: Html }

/** The page shows `username` as text. */
type PageAccount = { readonly username: string }

type FormOptions = {
  readonly locale: Locale
  readonly formToken: string
  /** Result of `issueProof()`. If undefined, the session of the browser identifies the person. */
  readonly proof: string | undefined
  readonly path: string
  /** Path of the form that cancels the authorization. If undefined, the page has no button for this form. */
  readonly cancelPath?: string | undefined
  /** The reason why the server did not accept the last code. */
  readonly problem?: Html | undefined
}

/** The page asks for a code after the password. */
export function codePage(options: FormOptions & { readonly account: PageAccount }): RenderedPage {
  const { account, locale, problem } = options
  const name = html`<strong><bdi>${account.username}</bdi></strong>`
  return {
    title: message(locale, problem === undefined ? 'secondFactor.title' : 'secondFactor.failedTitle'),
    body: html`<p>${message(locale, 'secondFactor.account', { name })}</p>
${codeForm(options, message(locale, 'secondFactor.hint'), message(locale, 'secondFactor.submit'))}`,
  }
}

/** On this page, a person adds the secret to an authenticator app and types the first code. */
export function setUpPage(
  options: FormOptions & {
    readonly account: PageAccount
    readonly serviceName: string
    readonly secret: Buffer
    /** If true, the person cannot sign in without a second factor. */
    readonly required: boolean
  },
): RenderedPage {
  const { account, locale, problem, required, secret, serviceName } = options
  const link = totpLink({ secret, serviceName, username: account.username })
  const key = groupsOfFour(encodeTotpSecret(secret), ' ')
  return {
    title: message(
      locale,
      problem === undefined ? 'secondFactor.setUpTitle' : 'secondFactor.setUpFailedTitle',
    ),
    body: html`${required && html`<p>${message(locale, 'secondFactor.required', { service: serviceName })}</p>\n`}<p>${message(locale, 'secondFactor.addKey')}</p>
${picture(link, locale)}<p class="key"><code>${key}</code></p>
<p><a href="${link}">${message(locale, 'secondFactor.openApp')}</a></p>
${codeForm(options, message(locale, 'secondFactor.firstCode'), message(locale, 'secondFactor.setUp'))}`,
  }
}

/** Draws the link as a QR code. Returns undefined for a link with so many modules that a camera cannot read the code. */
function picture(link: string, locale: Locale): Html | undefined {
  if (link.length > MAX_QR_LENGTH) return undefined
  const { data, size } = encode(link, { border: QUIET_ZONE, ecc: 'L' })
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
  return html`<p class="key"><svg viewBox="0 0 ${size} ${size}" width="240" height="240" role="img" aria-label="${message(locale, 'secondFactor.picture')}"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path fill="#000" d="${dark.join('')}"/></svg></p>
`
}

/** Number of light modules around a QR code. ISO/IEC 18004 section 6.3.8. */
const QUIET_ZONE = 4
/** Length of the longest link in a QR code of version 20 with error correction level L. Characters. */
const MAX_QR_LENGTH = 858

function codeForm(
  { cancelPath, formToken, locale, path, problem, proof }: FormOptions,
  hint: Html,
  submit: Html,
): Html {
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`
  const invalid = problem !== undefined && html` aria-invalid="true"`
  return html`${problem !== undefined && html`<p class="wrong" id="wrong" role="alert">${problem}</p>\n`}<form method="post" action="${path}">
${token}
${proof !== undefined && html`<input type="hidden" name="proof" value="${proof}">\n`}<p id="hint">${hint}</p>
<label for="code">${message(locale, 'secondFactor.code')}</label>
<input type="text" id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="64" required autofocus aria-describedby="hint${problem !== undefined && ' wrong'}"${invalid}>
<div class="actions">
<button>${submit}</button>
${cancelPath !== undefined && html`<button class="quiet" form="cancel">${message(locale, 'signIn.cancel')}</button>\n`}</div>
</form>${
    cancelPath !== undefined &&
    html`
<form method="post" action="${cancelPath}" id="cancel">
${token}
</form>`
  }`
}

/** The page shows the recovery codes only once. */
export function recoveryCodesPage(
  locale: Locale,
  options: { readonly codes: readonly string[]; readonly nextAddress: string },
): RenderedPage {
  const { codes, nextAddress } = options
  return {
    title: message(locale, 'secondFactor.recoveryTitle'),
    body: html`<p>${message(locale, 'secondFactor.recovery')}</p>
<ul class="codes">
${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p>${message(locale, 'secondFactor.keepCodes')}</p>
<p><a href="${nextAddress}">${message(locale, 'secondFactor.continue')}</a></p>`,
  }
}

/** On this page, a signed-in person sets up, replaces or removes the second factor. */
export function manageSecondFactorPage(options: {
  readonly locale: Locale
  readonly account: PageAccount
  /** Undefined if the account has no second factor. */
  readonly present: { readonly since: string; readonly recoveryCodesLeft: number } | undefined
  readonly canRemove: boolean
  readonly problem: Html | undefined
  readonly formToken: string
  readonly path: string
  readonly accountPath: string
}): RenderedPage {
  const { account, accountPath, canRemove, locale, path, present, problem } = options
  const invalid = problem !== undefined && html` aria-invalid="true" aria-describedby="wrong"`
  const status =
    present === undefined
      ? message(locale, 'secondFactor.off')
      : message(locale, 'secondFactor.on', { since: present.since, count: present.recoveryCodesLeft })
  const quiet = (step: string, label: Html) =>
    html`<button class="quiet" formaction="${path}/${step}">${label}</button>\n`
  return {
    title: message(locale, 'secondFactor.manageTitle'),
    body: html`<p>${status}</p>
${problem !== undefined && html`<p class="wrong" id="wrong" role="alert">${problem}</p>\n`}<form method="post" action="${path}/set-up">
<input type="hidden" name="form_token" value="${options.formToken}">
<label for="username">${message(locale, 'signIn.username')}</label>
<input type="text" id="username" name="username" value="${account.username}" autocomplete="username" readonly>
<label for="password">${message(locale, 'signIn.password')}</label>
<input type="password" id="password" name="password" autocomplete="current-password" maxlength="256" required${invalid}>
${
  present !== undefined &&
  html`<p id="hint">${message(locale, 'secondFactor.hint')}</p>
<label for="code">${message(locale, 'secondFactor.code')}</label>
<input type="text" id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="64" required${invalid}>
`
}<div class="actions">
<button>${message(locale, present === undefined ? 'secondFactor.begin' : 'secondFactor.replace')}</button>
${present !== undefined && quiet('recovery-codes', message(locale, 'secondFactor.newRecovery'))}${present !== undefined && canRemove && quiet('remove', message(locale, 'secondFactor.remove'))}</div>
</form>
<p><a href="${accountPath}">${message(locale, 'secondFactor.back')}</a></p>`,
  }
}
