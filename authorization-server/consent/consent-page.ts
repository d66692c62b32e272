import type { ScopeDescription } from '../../oauth/scope-catalogue.ts'
import { type Html, html } from '../pages/html.ts'
import type { RedirectTarget } from '../pages/redirect-target.ts'
import { scopeField } from './granted-scopes.ts'
import type { ScopeChoice, ScopeGroup } from './scope-groups.ts'

const FOLD_ABOVE = 10 // scopes; a longer list opens group by group

/** What the consent page shows. Untrusted: `clientName` and `target`, shown as text. */
export type ConsentPageOptions = {
  readonly clientName: string | undefined
  readonly verified: boolean
  readonly serviceName: string
  readonly account: { readonly name: string; readonly username: string }
  readonly target: RedirectTarget
  readonly groups: readonly ScopeGroup[]
  /** True after the form came back with every box unticked. */
  readonly nothingChosen: boolean
  readonly formToken: string
  /** `/oauth/interaction/<uid>` */
  readonly path: string
}

/** The consent form: who asks, as whom, where it leads, what for. Allow and Cancel weigh the same. */
export function consentPage(options: ConsentPageOptions): {
  readonly title: string
  readonly heading: Html
  readonly body: Html
} {
  const { clientName, formToken, path, target, verified } = options
  const name = clientName === undefined ? html`An app without a name` : html`<bdi>${clientName}</bdi>`
  return {
    title: 'Allow access?',
    heading: html`${name} wants to use your account`,
    body: html`<p>${
      verified
        ? html`<span class="badge">Verified</span> The people who run ${options.serviceName} know this app.`
        : html`<span class="badge">Not verified</span> Anybody can register an app under this name.`
    }</p>
${options.nothingChosen && html`<p class="wrong" role="alert">Leave at least one box ticked, or cancel.</p>`}
<dl>
<div><dt>You are signed in as</dt><dd><strong><bdi>${options.account.name}</bdi></strong> (<bdi>${options.account.username}</bdi>) <a href="${path}?account=other">Not you? Switch account</a></dd></div>
<div><dt>You will be sent to</dt><dd>${
      target.onThisDevice
        ? html`<strong>an app on this computer</strong> (<bdi>${target.shown}</bdi>)`
        : html`<strong><bdi>${target.shown}</bdi></strong>`
    }</dd></div>
</dl>
${target.onThisDevice && html`<p class="notice">Only continue if you just started this from an app on this device.</p>`}
<form method="post" action="${path}/consent">
<input type="hidden" name="form_token" value="${formToken}">
${scopeChoices(options.groups)}
<div class="actions">
<button>Allow</button>
<button formaction="${path}/cancel">Cancel</button>
</div>
</form>`,
  }
}

function scopeChoices(groups: readonly ScopeGroup[]): Html {
  const count = groups.reduce((sum, group) => sum + group.scopes.length, 0)
  if (count === 0) return html`<p>It learns that you signed in, and nothing else.</p>`
  const choices =
    count > FOLD_ABOVE
      ? groups.map(
          (group) => html`<details class="group">
<summary>${group.name} <span class="count">(${group.scopes.length})</span>${group.scopes.some(changes) && html` ${MARK}`}</summary>
${group.scopes.map(choice)}</details>
`,
        )
      : groups.map(
          (group) => html`<fieldset>
<legend>${group.name}</legend>
${group.scopes.map(choice)}</fieldset>
`,
        )
  return html`<h2>It will be able to</h2>
${choices}<p>Untick what you do not want to allow.</p>`
}

const MARK = html`<span class="badge changes">can change</span>`

function choice(scope: ScopeChoice): Html {
  return html`<label class="scope"><input type="checkbox" name="${scopeField(scope.name)}" value="on" checked><span>${scope.description}${changes(scope) && html` ${MARK}`}${scope.comesWith.length > 0 && html` <small>This includes: ${scope.comesWith.join('; ')}.</small>`}</span></label>
`
}

function changes(scope: ScopeDescription): boolean {
  return scope.sensitivity === 'write'
}
