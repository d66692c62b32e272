import t from 'tap'
import { type ConsentPageOptions, consentPage } from '../../../authorization-server/consent/consent-page.ts'
import type { ScopeChoice } from '../../../authorization-server/consent/scope-selection.ts'

const choice = (name: string, fields: Partial<ScopeChoice> = {}): ScopeChoice => ({
  name,
  description: `Do ${name}`,
  group: 'Courses',
  sensitivity: 'read',
  impliedDescriptions: [],
  ...fields,
})
const writes = (count: number): readonly ScopeChoice[] =>
  Array.from({ length: count }, (_, index) => choice(`write:${index}`, { sensitivity: 'write' }))

const render = (options: Partial<ConsentPageOptions>) => {
  const page = consentPage({
    clientName: 'App',
    verified: false,
    serviceName: 'Platform',
    locale: 'en',
    lifetimes: { refreshTokenMaxSeconds: 7_776_000, refreshTokenSeconds: 3_600 },
    account: { name: 'Alice Example', login: 'alice' },
    target: { shown: '127.0.0.1:5', onThisDevice: true, policySource: undefined },
    groups: [],
    ticked: new Set(),
    toggled: undefined,
    nothingChosen: false,
    formToken: 'token',
    path: '/oauth/interaction/uid',
    ...options,
  })
  const { title, heading, body } = page
  return { ...page, title: String(title), heading: String(heading), body: String(body) }
}

const SIGNED_IN = `<div><dt>You are signed in as</dt><dd><strong><bdi>Alice Example</bdi></strong> (<bdi>alice</bdi>) <a href="/oauth/interaction/uid?account=other">Not you? Switch account</a></dd></div>`
const LASTS = `<div><dt>Access lasts</dt><dd>At most 90 days, or 1 hour without use. You can end it earlier on <a href="/oauth/account">your account page</a>.</dd></div>`
const ON_THIS_DEVICE = `<p><span class="badge">Not verified</span> Anybody can register an app under this name.</p>
<dl>
${SIGNED_IN}
<div><dt>You will be sent to</dt><dd><strong>an app on this computer</strong> (<bdi>127.0.0.1:5</bdi>)</dd></div>
${LASTS}
</dl>
<p class="notice">Continue only if you just started this sign-in from an app on this device.</p>`
const FORM = `<form method="post" action="/oauth/interaction/uid/consent" class="consent">
<button name="toggle" value="" hidden></button>
<input type="hidden" name="form_token" value="token">`
const BUTTONS = `<div class="actions">
<button>Allow</button>
<button class="quiet" formaction="/oauth/interaction/uid/cancel">Cancel</button>
</div>
</form>`

t.test('consentPage() renders groups, toggles, ticks and included scopes', async (t) => {
  const courses = [
    choice('courses:read'),
    choice('courses:write', { sensitivity: 'write', impliedDescriptions: ['See a', 'See b'] }),
  ]
  const page = render({
    groups: [
      { name: 'Identity', scopes: [choice('profile', { sensitivity: 'identity' })] },
      { name: 'Courses', scopes: courses },
    ],
    ticked: new Set(['courses:read']),
    toggled: 'group.Courses',
  })
  t.same(page, {
    title: 'Allow access?',
    heading: '<bdi>App</bdi> wants to use your account',
    isWide: false,
    body: `${ON_THIS_DEVICE}
${FORM}
<h2>It will be able to</h2>


<p><button class="toggle" role="checkbox" aria-checked="mixed" name="toggle" value="all">Everything</button></p>
<div class="groups">
<div class="group" role="group" aria-labelledby="group-0">
<h3 id="group-0">Identity</h3>

<label class="scope"><input type="checkbox" name="scope.profile" value="on"><span>Do profile</span></label>
</div>
<div class="group" role="group" aria-labelledby="group-1">
<h3 id="group-1">Courses</h3>
<button class="toggle" role="checkbox" aria-checked="mixed" name="toggle" value="group.Courses" autofocus>All<span class="unseen"> of Courses</span></button>
<label class="scope"><input type="checkbox" name="scope.courses:read" value="on" checked><span>Do courses:read</span></label>
<label class="scope changes"><input type="checkbox" name="scope.courses:write" value="on"><span>Do courses:write <span class="badge changes">can change</span> <small>This includes: See a; See b.</small></span></label>
</div>
</div>
<p class="chosen">Selected: <strong class="count"></strong> of 3, <strong class="count changes"></strong> can change data</p>
${BUTTONS}`,
  })
})

t.test('consentPage() of a verified client has no warning and shows the host of the redirect', async (t) => {
  const page = render({
    clientName: undefined,
    verified: true,
    target: { shown: 'app.example', onThisDevice: false, policySource: 'https://app.example' },
    groups: [{ name: 'Courses', scopes: [choice('courses:read')] }],
    nothingChosen: true,
  })
  t.equal(page.heading, 'An app without a name wants to use your account')
  t.equal(
    page.body,
    `<p><span class="badge">Verified</span> The operator of Platform knows this app.</p>
<dl>
${SIGNED_IN}
<div><dt>You will be sent to</dt><dd><strong><bdi>app.example</bdi></strong></dd></div>
${LASTS}
</dl>

${FORM}
<h2>It will be able to</h2>
<p class="wrong" role="alert">Select at least one box, or cancel.</p>


<div class="groups">
<div class="group" role="group" aria-labelledby="group-0">
<h3 id="group-0">Courses</h3>

<label class="scope"><input type="checkbox" name="scope.courses:read" value="on"><span>Do courses:read</span></label>
</div>
</div>
<p class="chosen">Selected: <strong class="count"></strong> of 1</p>
${BUTTONS}`,
  )
})

t.test('consentPage() says how reliable the host of a client document is', async (t) => {
  const target = { shown: 'agent.example', onThisDevice: false, policySource: undefined }
  const documentHost = 'agent.example'
  const hosted = render({ documentHost, target })
  t.equal(hosted.heading, '<bdi>agent.example</bdi> wants to use your account')
  t.match(
    hosted.body,
    '<p>This app belongs to <strong><bdi>agent.example</bdi></strong> and uses the name <bdi>App</bdi>. <span class="badge">Not verified</span> The operator of Platform did not check this name.</p>',
  )
  t.match(
    render({ documentHost, target, clientName: undefined }).body,
    '<p>This app belongs to <strong><bdi>agent.example</bdi></strong>.</p>',
  )
  t.match(
    render({ documentHost }).body,
    '<p><span class="badge">Not verified</span> This app says that it belongs to <strong><bdi>agent.example</bdi></strong> and uses the name <bdi>App</bdi>. Every app on this computer can say the same.</p>',
  )
})

t.test('consentPage() without a scope shows one sentence', async (t) => {
  t.equal(
    render({}).body,
    `${ON_THIS_DEVICE}
${FORM}
<p>This app learns only that you signed in.</p>
${BUTTONS}`,
  )
})

t.test('consentPage() states the number of write scopes that it does not tick', async (t) => {
  const four = render({ groups: [{ name: 'Writes', scopes: writes(4) }], toggled: 'all' }).body
  t.match(
    four,
    `<h2>It will be able to</h2>

<p class="notice">This app asks for 4 permissions to change data. Select the permissions that you want to allow.</p>
<p><button class="toggle" role="checkbox" aria-checked="false" name="toggle" value="all" autofocus>Everything</button></p>
<div class="groups">
<div class="group" role="group" aria-labelledby="group-0">
<h3 id="group-0">Writes</h3>

<label`,
  )
  const three = render({ groups: [{ name: 'Writes', scopes: writes(3) }] }).body
  t.notMatch(three, 'permissions to change data')
})

t.test('consentPage() is wide above ten scopes', async (t) => {
  for (const [count, isWide] of [
    [10, false],
    [11, true],
  ] as const)
    t.equal(render({ groups: [{ name: 'Writes', scopes: writes(count) }] }).isWide, isWide, `${count} scopes`)
})

t.test('consentPage() states the lifetimes in the largest unit, and a single lifetime once', async (t) => {
  const lasting = (refreshTokenMaxSeconds: number, refreshTokenSeconds: number, locale: 'en' | 'de' = 'en') =>
    /<dt>(?:Access lasts|Dauer des Zugriffs)<\/dt><dd>([^.]*\.)/.exec(
      render({ lifetimes: { refreshTokenMaxSeconds, refreshTokenSeconds }, locale }).body,
    )?.[1]
  t.equal(lasting(86_400, 86_400), 'At most 1 day.')
  t.equal(lasting(5_400, 90), 'At most 90 minutes, or 90 seconds without use.')
  t.equal(lasting(7_776_000, 2_592_000, 'de'), 'Höchstens 90 Tage, ohne Nutzung 30 Tage.')
})
