import type { FastifyReply } from 'fastify'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { canChange, groupScopes, type ScopeChoice } from '../consent/scope-selection.ts'
import type { FormPages } from '../pages/form-pages.ts'
import { type Locale, message } from '../pages/messages/message.ts'
import { localeOf } from '../pages/page-reply.ts'

/** A client with access to the account, and the sum of its grants. `name` is untrusted and shown as text. */
export type ConnectedApp = {
  readonly clientId: string
  readonly name: string | undefined
  readonly verified: boolean
  readonly scopes: readonly string[]
  /** Unix times. */
  readonly firstGrantSeconds: number | undefined
  readonly lastTokenSeconds: number | undefined
}

export type AccountPageOptions = {
  readonly account: { readonly name: string; readonly username: string; readonly email: string | undefined }
  readonly apps: readonly ConnectedApp[]
  /** Number of the newest grants on the page. Undefined: the page shows all grants. */
  readonly shownGrants?: number | undefined
  /** Number of sign-in sessions, this browser included. */
  readonly sessions: number
  readonly signedInSeconds: number | undefined
  readonly catalogue: ScopeCatalogue
  /** Path of the page for the second factor. Undefined if the account cannot have a second factor. */
  readonly secondFactorPath?: string | undefined
  /** Result of the last form. */
  readonly done: FormResult | undefined
  readonly locale: Locale
  readonly formToken: string
  readonly path: string
}

/** Maximum number of apps on the page. The form for all apps also removes the apps that the page does not show. */
const MAX_APPS = 100

/** Results of the forms: values in the query of the page. */
const RESULTS = {
  removed: 'account.removed',
  'removed-all': 'account.removedAll',
  'signed-out-others': 'account.signedOutOthers',
} as const

export type FormResult = keyof typeof RESULTS

export function isFormResult(text: unknown): text is FormResult {
  return typeof text === 'string' && Object.hasOwn(RESULTS, text)
}

/** Renders the account page: the person, the apps with access, and the sign-in sessions. */
export function accountPage(options: AccountPageOptions): {
  readonly title: Html
  readonly isWide: boolean
  readonly body: Html
} {
  const { account, apps, done, locale, sessions } = options
  const count = { count: apps.length }
  return {
    title: message(locale, 'account.title'),
    isWide: true,
    body: html`${done !== undefined && html`<p class="notice" role="status">${message(locale, RESULTS[done])}</p>`}
<dl>
<div><dt>${message(locale, 'account.signedInAs')}</dt><dd><strong><bdi>${account.name}</bdi></strong> (<bdi>${account.email ?? account.username}</bdi>)</dd></div>
<div><dt>${message(locale, 'account.since')}</dt><dd>${time(options.signedInSeconds, locale)}</dd></div>
</dl>
<h2>${message(locale, 'account.apps')}</h2>
${apps.length === 0 && html`<p>${message(locale, 'account.noApps')}</p>`}
${apps.slice(0, MAX_APPS).map((app, index) => connectedApp(app, `app-${index}`, options))}
${apps.length > MAX_APPS && html`<p>${message(locale, 'account.moreApps', { count: apps.length - MAX_APPS })}</p>`}
${options.shownGrants !== undefined && html`<p>${message(locale, 'account.newestGrants', { count: options.shownGrants })}</p>`}
${(apps.length > 1 || options.shownGrants !== undefined) && form(options, 'remove-all', html`<button class="quiet">${options.shownGrants === undefined ? message(locale, 'account.removeAll', count) : message(locale, 'account.removeEvery')}</button>`)}
<h2>${message(locale, 'account.signIn')}</h2>
<p>${sessions > 1 ? message(locale, 'account.sessions', { count: sessions }) : message(locale, 'account.oneSession')} ${message(locale, 'account.appsKeepAccess')}</p>
${options.secondFactorPath !== undefined && html`<p><a href="${options.secondFactorPath}">${message(locale, 'secondFactor.manageTitle')}</a></p>\n`}<div class="actions">
${form(options, 'sign-out', html`<button>${message(locale, 'account.signOut')}</button>`)}
${sessions > 1 && form(options, 'sign-out-others', html`<button class="quiet">${message(locale, 'account.signOutOthers')}</button>`)}
</div>`,
  }
}

/** For a browser without a signed-in person. */
export function sendSignedOut(forms: Pick<FormPages, 'send'>, reply: FastifyReply): FastifyReply {
  const locale = localeOf(reply.request)
  const page = {
    title: message(locale, 'account.signedOut'),
    body: html`<p>${message(locale, 'account.appsKeepAccess')}</p>
<p><a href="${ENDPOINTS.account}">${message(locale, 'account.signInAgain')}</a></p>`,
  }
  return forms.send(reply, page, { status: 200, formTargets: [] })
}

function connectedApp(app: ConnectedApp, id: string, options: AccountPageOptions): Html {
  const { locale } = options
  const name = app.name === undefined ? message(locale, 'consent.unnamedApp') : html`<bdi>${app.name}</bdi>`
  const permissions = groupScopes(app.scopes, options.catalogue).flatMap(({ scopes }) => scopes)
  const times = { first: time(app.firstGrantSeconds, locale), last: time(app.lastTokenSeconds, locale) }
  return html`<section class="app" aria-labelledby="${id}">
<h3 id="${id}">${name} <span class="badge">${message(locale, app.verified ? 'consent.verified' : 'consent.notVerified')}</span></h3>
${permissions.length === 0 ? html`<p>${message(locale, 'consent.signInOnly')}</p>` : html`<ul>${permissions.map((scope) => permission(scope, locale))}</ul>`}
<p class="times">${message(locale, 'account.times', times)}</p>
${form(
  options,
  'remove',
  html`<input type="hidden" name="client" value="${app.clientId}">
<button class="quiet" aria-describedby="${id}">${message(locale, 'account.remove')}</button>`,
)}
</section>
`
}

function permission(scope: ScopeChoice, locale: Locale): Html {
  const mark = html` <span class="badge changes">${message(locale, 'consent.canChange')}</span>`
  return html`<li>${scope.description}${canChange(scope) && mark}</li>`
}

function form({ path, formToken }: AccountPageOptions, step: string, content: Html): Html {
  return html`<form method="post" action="${path}/${step}">
<input type="hidden" name="form_token" value="${formToken}">
${content}
</form>`
}

function time(seconds: number | undefined, locale: Locale): Html {
  if (seconds === undefined) return message(locale, 'account.unknownTime')
  const iso = new Date(seconds * 1_000).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}
