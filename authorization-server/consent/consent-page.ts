import { type Html, html } from '../pages/html.ts'
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
  readonly account: { readonly name: string; readonly username: string }
  readonly target: RedirectTarget
  readonly groups: readonly ScopeGroup[]
  readonly ticked: ReadonlySet<string>
  /** The toggle that the person used last. This toggle keeps the focus. */
  readonly toggled: string | undefined
  /** True after the person sent the form without a ticked checkbox. */
  readonly nothingChosen: boolean
  readonly formToken: string
  readonly path: string
}

/**
 * Renders the consent form: the client, the account, the redirect target and all scopes.
 * The page has no script. The checkboxes for a group and for all scopes are therefore buttons. After a click on such a
 * button, the server changes the ticks and renders the page again.
 */
export function consentPage(options: ConsentPageOptions): {
  readonly title: string
  readonly heading: Html
  readonly isWide: boolean
  readonly body: Html
} {
  const { documentHost, formToken, groups, path, target } = options
  const shownName = documentHost ?? options.clientName
  const name = shownName === undefined ? html`An app without a name` : html`<bdi>${shownName}</bdi>`
  const choices = groups.flatMap(({ scopes }) => scopes)
  return {
    title: 'Allow access?',
    heading: html`${name} wants to use your account`,
    isWide: choices.length > ONE_COLUMN,
    body: html`<p>${identity(options)}</p>
<dl>
<div><dt>You are signed in as</dt><dd><strong><bdi>${options.account.name}</bdi></strong> (<bdi>${options.account.username}</bdi>) <a href="${path}?account=other">Not you? Switch account</a></dd></div>
<div><dt>You will be sent to</dt><dd>${
      target.onThisDevice
        ? html`<strong>an app on this computer</strong> (<bdi>${target.shown}</bdi>)`
        : html`<strong><bdi>${target.shown}</bdi></strong>`
    }</dd></div>
</dl>
${target.onThisDevice && html`<p class="notice">Continue only if you just started this sign-in from an app on this device.</p>`}
<form method="post" action="${path}/consent" class="consent">
${DEFAULT_BUTTON}
<input type="hidden" name="form_token" value="${formToken}">
${choices.length === 0 ? html`<p>This app learns only that you signed in.</p>` : scopeChoices(options, choices)}
<div class="actions">
<button>Allow</button>
<button class="quiet" formaction="${path}/cancel">Cancel</button>
</div>
</form>`,
  }
}

/**
 * Describes the trust in the name of the client. The host of a client document is reliable only if the code goes to this
 * host: each app on the device can use the document of another app. RFC 8252 section 8.6.
 */
function identity({ clientName, documentHost, serviceName, target, verified }: ConsentPageOptions): Html {
  if (verified)
    return html`<span class="badge">Verified</span> The operator of ${serviceName} knows this app.`
  if (documentHost === undefined)
    return html`<span class="badge">Not verified</span> Anybody can register an app under this name.`
  const host = html`<strong><bdi>${documentHost}</bdi></strong>`
  const name = clientName !== undefined && html` and uses the name <bdi>${clientName}</bdi>`
  if (target.onThisDevice)
    return html`<span class="badge">Not verified</span> This app says that it belongs to ${host}${name}. Every app on this computer can say the same.`
  if (clientName === undefined) return html`This app belongs to ${host}.`
  return html`This app belongs to ${host}${name}. <span class="badge">Not verified</span> The operator of ${serviceName} did not check this name.`
}

/**
 * Default button of the form. When a person presses Enter in a checkbox, the browser activates the first button of the
 * form. This button shows the page again with the same ticks. Without this button, Enter would activate a toggle.
 * Source: HTML Living Standard, "implicit submission".
 */
const DEFAULT_BUTTON = html`<button name="${TOGGLE_FIELD}" value="" hidden></button>`

function scopeChoices(options: ConsentPageOptions, choices: readonly ScopeChoice[]): Html {
  const { groups, nothingChosen } = options
  const withheld = choices.length > defaultTicks(groups).size
  const writes = choices.filter(canChange).length
  return html`<h2>It will be able to</h2>
${nothingChosen && html`<p class="wrong" role="alert">Select at least one box, or cancel.</p>`}
${withheld && html`<p class="notice">This app asks for ${writes} permissions to change data. Select the permissions that you want to allow.</p>`}
${choices.length > 1 && html`<p>${toggle(TOGGLE_ALL, 'Everything', choices, options)}</p>`}
<div class="groups">
${groups.map((group, index) => scopeGroup(group, `group-${index}`, options))}</div>
<p class="chosen">Selected: <strong class="count"></strong> of ${choices.length}${writes > 0 && html`, <strong class="count changes"></strong> can change data`}</p>`
}

function scopeGroup(group: ScopeGroup, id: string, options: ConsentPageOptions): Html {
  const hasToggle = options.groups.length > 1 && group.scopes.length > 1
  return html`<div class="group" role="group" aria-labelledby="${id}">
<h3 id="${id}">${group.name}</h3>
${hasToggle && toggle(toggleValue(group), html`All<span class="unseen"> of ${group.name}</span>`, group.scopes, options)}
${group.scopes.map((scope) => choice(scope, options.ticked.has(scope.name)))}</div>
`
}

function toggle(
  value: string,
  label: Html | string,
  scopes: readonly ScopeChoice[],
  { ticked, toggled }: ConsentPageOptions,
): Html {
  const focus = toggled === value && html` autofocus`
  return html`<button class="toggle" role="checkbox" aria-checked="${toggleState(scopes, ticked)}" name="${TOGGLE_FIELD}" value="${value}"${focus}>${label}</button>`
}

const MARK = html`<span class="badge changes">can change</span>`

function choice(scope: ScopeChoice, isTicked: boolean): Html {
  const changes = canChange(scope)
  return html`<label class="scope${changes && ' changes'}"><input type="checkbox" name="${scopeField(scope.name)}" value="on"${isTicked && html` checked`}><span>${scope.description}${changes && html` ${MARK}`}${scope.impliedDescriptions.length > 0 && html` <small>This includes: ${scope.impliedDescriptions.join('; ')}.</small>`}</span></label>
`
}

/** Target of the redirect after the person allows or denies the request. */
type RedirectTarget = {
  /** Text for the person to compare: host and port, or the scheme of a private-use URI. */
  readonly shown: string
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
  if (!URL.canParse(redirectUri))
    return { shown: 'an unknown target', onThisDevice: false, policySource: undefined }
  const url = new URL(redirectUri)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { shown: url.protocol.slice(0, -1), onThisDevice: true, policySource: url.protocol }
  return {
    shown: url.host,
    onThisDevice: LOOPBACK_HOSTS.has(url.hostname),
    policySource: url.hostname.startsWith('[') ? undefined : url.origin,
  }
}
