import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { formatDuration, type Locale, message } from '../pages/messages/message.ts'
import {
  canChange,
  defaultTicks,
  type ScopeChoice,
  type ScopeGroup,
  scopeField,
  TOGGLE_ALL,
  TOGGLE_FIELD,
  toggleState,
  toggleValue,
} from './scope-selection.ts'

/** Largest number of scopes in one column. Wide windows show more scopes in several columns. */
const ONE_COLUMN = 10

/** Content of the consent page. `clientName` and `target` are untrusted and shown as text. */
export type ConsentPageOptions = {
  readonly clientName: string | undefined
  readonly verified: boolean
  /** Host of the client document, which identifies the client instead of its name. Undefined: no document. */
  readonly documentHost?: string | undefined
  readonly serviceName: string
  readonly locale: Locale
  /** `login`: the user name, the e-mail address, or the title of the provider. */
  readonly account: { readonly name: string; readonly login: string }
  readonly target: RedirectTarget
  readonly lifetimes: GrantLifetimes
  readonly groups: readonly ScopeGroup[]
  readonly ticked: ReadonlySet<string>
  /** The toggle that the person used last. This toggle keeps the focus. */
  readonly toggled: string | undefined
  /** True after the person sent the form without a ticked checkbox. */
  readonly nothingChosen: boolean
  readonly formToken: string
  readonly path: string
}

export type GrantLifetimes = {
  /** Absolute lifetime, which starts at the consent. */
  readonly refreshTokenMaxSeconds: number
  /** Idle lifetime, which starts again at each use. */
  readonly refreshTokenSeconds: number
}

/**
 * Renders the consent form: the client, the account, the redirect target and all scopes.
 * The page has no script. The checkboxes for a group and for all scopes are therefore buttons. After a click on such a
 * button, the server changes the ticks and renders the page again.
 */
export function consentPage(options: ConsentPageOptions): {
  readonly title: Html
  readonly heading: Html
  readonly isWide: boolean
  readonly body: Html
} {
  const { account, documentHost, formToken, groups, locale, path, target } = options
  const shownName = documentHost ?? options.clientName
  const app = shownName === undefined ? message(locale, 'consent.unnamedApp') : html`<bdi>${shownName}</bdi>`
  const accountLink = html`<a href="${ENDPOINTS.account}">${message(locale, 'consent.accountPage')}</a>`
  const choices = groups.flatMap(({ scopes }) => scopes)
  return {
    title: message(locale, 'consent.title'),
    heading: message(locale, 'consent.heading', { app }),
    isWide: choices.length > ONE_COLUMN,
    body: html`<p>${identity(options)}</p>
<dl>
<div><dt>${message(locale, 'consent.account')}</dt><dd><strong><bdi>${account.name}</bdi></strong> (<bdi>${account.login}</bdi>) <a href="${path}?account=other">${message(locale, 'consent.switchAccount')}</a></dd></div>
<div><dt>${message(locale, 'consent.target')}</dt><dd>${
      target.onThisDevice
        ? html`<strong>${message(locale, 'consent.thisComputer')}</strong> (<bdi>${target.shown}</bdi>)`
        : html`<strong><bdi>${target.shown ?? message(locale, 'consent.unknownTarget')}</bdi></strong>`
    }</dd></div>
<div><dt>${message(locale, 'consent.duration')}</dt><dd>${duration(options)} ${message(locale, 'consent.removal', { account: accountLink })}</dd></div>
</dl>
${target.onThisDevice && html`<p class="notice">${message(locale, 'consent.thisDevice')}</p>`}
<form method="post" action="${path}/consent" class="consent">
${DEFAULT_BUTTON}
<input type="hidden" name="form_token" value="${formToken}">
${choices.length === 0 ? html`<p>${message(locale, 'consent.signInOnly')}</p>` : scopeChoices(options, choices)}
<div class="actions">
<button>${message(locale, 'consent.allow')}</button>
<button class="quiet" formaction="${path}/cancel">${message(locale, 'consent.cancel')}</button>
</div>
</form>`,
  }
}

function duration({ lifetimes, locale }: ConsentPageOptions): Html {
  const { refreshTokenMaxSeconds, refreshTokenSeconds } = lifetimes
  const max = formatDuration(locale, refreshTokenMaxSeconds)
  return refreshTokenSeconds < refreshTokenMaxSeconds
    ? message(locale, 'consent.lastsUnused', { max, idle: formatDuration(locale, refreshTokenSeconds) })
    : message(locale, 'consent.lasts', { max })
}

/**
 * Describes the trust in the name of the client. The host of a client document is reliable only if the code goes to this
 * host: each app on the device can use the document of another app. RFC 8252 section 8.6.
 */
function identity(options: ConsentPageOptions): Html {
  const { clientName, documentHost, locale, serviceName: service, target, verified } = options
  const badge = (key: 'consent.verified' | 'consent.notVerified') =>
    html`<span class="badge">${message(locale, key)}</span>`
  const notVerified = badge('consent.notVerified')
  if (verified) return html`${badge('consent.verified')} ${message(locale, 'consent.knownApp', { service })}`
  if (documentHost === undefined) return html`${notVerified} ${message(locale, 'consent.unknownApp')}`
  const host = html`<strong><bdi>${documentHost}</bdi></strong>`
  const name = html`<bdi>${clientName ?? ''}</bdi>`
  if (target.onThisDevice)
    return clientName === undefined
      ? html`${notVerified} ${message(locale, 'consent.claimedHost', { host })}`
      : html`${notVerified} ${message(locale, 'consent.claimedHostAndName', { host, name })}`
  if (clientName === undefined) return message(locale, 'consent.host', { host })
  return html`${message(locale, 'consent.hostAndName', { host, name })} ${notVerified} ${message(locale, 'consent.unknownName', { service })}`
}

/**
 * Default button of the form. When a person presses Enter in a checkbox, the browser activates the first button of the
 * form. This button shows the page again with the same ticks. Without this button, Enter would activate a toggle.
 * Source: HTML Living Standard, "implicit submission".
 */
const DEFAULT_BUTTON = html`<button name="${TOGGLE_FIELD}" value="" hidden></button>`

function scopeChoices(options: ConsentPageOptions, choices: readonly ScopeChoice[]): Html {
  const { groups, locale, nothingChosen } = options
  const withheld = choices.length > defaultTicks(groups).size
  const writes = choices.filter(canChange).length
  const values = {
    count: html`<strong class="count"></strong>`,
    total: choices.length,
    writes: html`<strong class="count changes"></strong>`,
  }
  return html`<h2>${message(locale, 'consent.scopes')}</h2>
${nothingChosen && html`<p class="wrong" role="alert">${message(locale, 'consent.nothingChosen')}</p>`}
${withheld && html`<p class="notice">${message(locale, 'consent.manyWrites', { count: writes })}</p>`}
${choices.length > 1 && html`<p>${toggle(TOGGLE_ALL, message(locale, 'consent.everything'), choices, options)}</p>`}
<div class="groups">
${groups.map((group, index) => scopeGroup(group, `group-${index}`, options))}</div>
<p class="chosen">${writes > 0 ? message(locale, 'consent.selectedWrites', values) : message(locale, 'consent.selected', values)}</p>`
}

function scopeGroup(group: ScopeGroup, id: string, options: ConsentPageOptions): Html {
  const { locale } = options
  const ofGroup = html`<span class="unseen">${message(locale, 'consent.ofGroup', { group: group.name })}</span>`
  const hasToggle = options.groups.length > 1 && group.scopes.length > 1
  return html`<div class="group" role="group" aria-labelledby="${id}">
<h3 id="${id}">${group.name}</h3>
${hasToggle && toggle(toggleValue(group), message(locale, 'consent.all', { ofGroup }), group.scopes, options)}
${group.scopes.map((scope) => choice(scope, options))}</div>
`
}

function toggle(
  value: string,
  label: Html,
  scopes: readonly ScopeChoice[],
  { ticked, toggled }: ConsentPageOptions,
): Html {
  const focus = toggled === value && html` autofocus`
  return html`<button class="toggle" role="checkbox" aria-checked="${toggleState(scopes, ticked)}" name="${TOGGLE_FIELD}" value="${value}"${focus}>${label}</button>`
}

function choice(scope: ScopeChoice, { locale, ticked }: ConsentPageOptions): Html {
  const mark = html`<span class="badge changes">${message(locale, 'consent.canChange')}</span>`
  const included = message(locale, 'consent.includes', { scopes: scope.impliedDescriptions.join('; ') })
  const changes = canChange(scope)
  return html`<label class="scope${changes && ' changes'}"><input type="checkbox" name="${scopeField(scope.name)}" value="on"${ticked.has(scope.name) && html` checked`}><span>${scope.description}${changes && html` ${mark}`}${scope.impliedDescriptions.length > 0 && html` <small>${included}</small>`}</span></label>
`
}

/** Target of the redirect after the person allows or denies the request. */
type RedirectTarget = {
  /** Text for the person to compare: host and port, or the scheme of a private-use URI. Undefined: not a URL. */
  readonly shown: string | undefined
  /** True for an app on the device of the person. Such an app cannot prove its identity. RFC 8252 section 8.6. */
  readonly onThisDevice: boolean
  /**
   * CSP source of the target. Chromium applies `form-action` to redirects too, so the policy must list this source
   * beside 'self'. Undefined: CSP cannot express the target (IPv6 literals).
   */
  readonly policySource: string | undefined
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Reads the redirect URI of an authorization request. Source: RFC 8252 section 7. */
export function readRedirectTarget(redirectUri: string): RedirectTarget {
  if (!URL.canParse(redirectUri)) return { shown: undefined, onThisDevice: false, policySource: undefined }
  const url = new URL(redirectUri)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { shown: url.protocol.slice(0, -1), onThisDevice: true, policySource: url.protocol }
  return {
    shown: url.host,
    onThisDevice: LOOPBACK_HOSTS.has(url.hostname),
    policySource: url.hostname.startsWith('[') ? undefined : url.origin,
  }
}
