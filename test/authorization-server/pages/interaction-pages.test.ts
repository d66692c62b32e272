import t, { type Test } from 'tap'
import { InteractionError } from '../../../authorization-server/engine/interactions.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'
import { headerSet } from '../../fixtures/header-set.ts'
import { anInteraction, CAROL, openForm, PASSWORD, postForm, startPages } from '../../fixtures/start-pages.ts'
import { until } from '../../fixtures/until.ts'

const CREDENTIALS = { username: 'carol', password: PASSWORD }
const CONSENT = { prompt: 'consent', accountId: CAROL.id } as const

t.test(
  'rejects a form without the token of this browser and interaction, without side effects',
  async (t) => {
    const pages = await startPages(t)
    const { cookie, token } = await openForm(pages)
    const other = await openForm(pages)
    const attempts = {
      'no token': { cookie, body: CREDENTIALS },
      'no cookie': { body: { ...CREDENTIALS, form_token: token } },
      neither: { body: CREDENTIALS },
      'empty token': { cookie, body: { ...CREDENTIALS, form_token: '' } },
      'another browser’s token': { cookie, body: { ...CREDENTIALS, form_token: other.token } },
      'another browser’s cookie': { cookie: other.cookie, body: { ...CREDENTIALS, form_token: token } },
      'a token with one letter changed': {
        cookie,
        body: { ...CREDENTIALS, form_token: (token.startsWith('A') ? 'B' : 'A') + token.slice(1) },
      },
      'two cookies of the name': {
        cookie: `${cookie}; ${other.cookie}`,
        body: { ...CREDENTIALS, form_token: token },
      },
      'from another site': {
        cookie,
        body: { ...CREDENTIALS, form_token: token },
        headers: { 'sec-fetch-site': 'cross-site' },
      },
      'from another host of the domain': {
        cookie,
        body: { ...CREDENTIALS, form_token: token },
        headers: { 'sec-fetch-site': 'same-site' },
      },
      'with another origin': {
        cookie,
        body: { ...CREDENTIALS, form_token: token },
        headers: { origin: 'https://evil.example' },
      },
    }
    for (const step of ['sign-in', 'consent', 'cancel'] as const)
      for (const [name, attempt] of Object.entries(attempts)) {
        const response = await postForm(pages, step, attempt)
        t.equal(response.status, 403, `${step}: ${name}`)
        assertPageHeaders(t, response, name)
        t.match(await response.text(), /We could not verify your request/)
      }
    t.strictSame(pages.recorded, [])
  },
)

t.test('rejects a form token of another interaction', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  pages.interaction = anInteraction({ uid: 'uid-2' })
  const response = await postForm(pages, 'cancel', { cookie, body: { form_token: token } })
  t.equal(response.status, 403)
  t.strictSame(pages.recorded, [])
})

t.test('rejects a malformed form with the correct status, without side effects', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  const valid = `form_token=${token}&username=carol&password=x`
  const cases = [
    [400, `${valid}&username=alice`, 'a field twice'],
    [400, `${valid}&form_token=${token}`, 'the token twice'],
    [400, `${valid}&x=%`, 'a broken escape'],
    [400, `${valid}&x=%ff`, 'bytes that are not UTF-8'],
    [400, `${valid}&x=%00`, 'NUL'],
    [400, `${valid}&noequals`, 'no value'],
    [400, `${valid}&a=b=c`, 'two equals signs'],
    [400, `${valid}&=b`, 'no name'],
    [400, Array.from({ length: 400 }, (_, i) => `f${i}=`).join('&'), 'too many fields'],
    [413, `${valid}&x=${'y'.repeat(16 * 1024)}`, 'too large'],
  ] as const
  for (const [status, body, name] of cases) {
    const response = await postForm(pages, 'sign-in', { cookie, body })
    t.equal(response.status, status, name)
    assertPageHeaders(t, response, name)
    t.match(await response.text(), /We could not read your form/, name)
  }
  for (const type of ['application/json', 'multipart/form-data; boundary=x', 'text/plain', 'nonsense']) {
    const response = await postForm(pages, 'sign-in', {
      cookie,
      body: valid,
      headers: { 'content-type': type },
    })
    t.equal(response.status, 415, type)
    assertPageHeaders(t, response, type)
  }
  t.equal((await postForm(pages, 'sign-in', { cookie, body: '' })).status, 403)
  t.strictSame(pages.recorded, [])
})

t.test('shows the same page for a wrong password, an unknown user and an invalid user name', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  const answers: string[] = []
  for (const username of ['carol', 'nobody', '<b>']) {
    const body = { username, password: 'wrong', form_token: token }
    const response = await postForm(pages, 'sign-in', { cookie, body })
    t.equal(response.status, 400)
    assertPageHeaders(t, response, username)
    answers.push((await response.text()).replaceAll(/value="(carol|nobody|&#60;b&#62;)"/g, 'value="…"'))
  }
  t.match(answers[0], /User name or password is wrong/)
  t.notMatch(answers[0], /wrong password/)
  t.equal(answers[1], answers[0])
  t.equal(answers[2], answers[0])
  t.strictSame(pages.recorded, [])
})

t.test(
  'after too many failures, rejects the account from this address, also with the correct password',
  async (t) => {
    const pages = await startPages(t)
    const { cookie, token } = await openForm(pages)
    const attempt = (username: string, password: string) =>
      postForm(pages, 'sign-in', { cookie, body: { username, password, form_token: token } })
    for (let i = 0; i < 10; i++) t.equal((await attempt(' CAROL', 'wrong')).status, 400)
    for (const [username, password] of [
      ['carol', 'wrong'],
      ['carol', PASSWORD],
    ] as const) {
      const paused = await attempt(username, password)
      t.equal(paused.status, 429)
      t.equal(paused.headers.get('retry-after'), '300')
      assertPageHeaders(t, paused, '429')
      t.match(await paused.text(), /Too many attempts/)
    }
    t.equal((await attempt('dave', 'wrong')).status, 400, 'another account can still sign in')
    pages.nowMs += 299_001
    t.equal((await attempt('carol', PASSWORD)).headers.get('retry-after'), '1')
    pages.nowMs += 999
    t.equal((await attempt('carol', PASSWORD)).status, 303)
    t.strictSame(pages.recorded, [{ did: 'signedIn', accountId: CAROL.id }])
  },
)

t.test('a throttled sign-in does not read the store and writes one audit event', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  const body = { username: 'carol', password: 'wrong', form_token: token }
  const attempt = async () => (await postForm(pages, 'sign-in', { cookie, body })).status
  for (let i = 0; i < 10; i++) t.equal(await attempt(), 400)
  pages.events.length = 0
  pages.failure = new Error('the store is away')
  for (let i = 0; i < 3; i++) t.equal(await attempt(), 429)
  const origin = { requestId: 'request-1', clientAddress: '127.0.0.1' }
  t.strictSame(
    pages.events,
    [true, false, false].map((isFirst) => ({ kind: 'sign_in_throttled', isFirst, origin })),
  )
  t.strictSame(pages.logged, [])
})

t.test('rejects concurrent sign-ins above the queue limit immediately', async (t) => {
  const held = Promise.withResolvers<undefined>()
  const pages = await startPages(t, {
    verify: () => held.promise,
    limits: { passwordHashes: { maxConcurrent: 1, maxQueue: 1 } },
  })
  const { cookie, token } = await openForm(pages)
  const attempts = Array.from({ length: 3 }, () =>
    postForm(pages, 'sign-in', { cookie, body: { ...CREDENTIALS, form_token: token } }),
  )
  const first = await Promise.race(attempts)
  t.equal(first.status, 503)
  t.equal(first.headers.get('retry-after'), '2')
  held.resolve(undefined)
  const statuses = (await Promise.all(attempts)).map((response) => response.status)
  t.strictSame(statuses.sort(), [400, 400, 503])
})

t.test('escapes text from clients and browsers', async (t) => {
  const hostile = `"><svg onload=alert(1)>'\`&{{x}}\u202egnp\u0000<script>alert(2)</script>`
  const client = { id: 'c', name: hostile, verified: false }
  const redirectUri = 'http://127.0.0.1:1/"><svg onload=alert(3)>'
  const pages = await startPages(t, {
    interaction: anInteraction({ client, redirectUri, loginHint: hostile }),
  })
  const { cookie, token, markup } = await openForm(pages)
  const body = { username: hostile, password: hostile, form_token: token }
  const failed = await (
    await postForm(pages, 'sign-in', {
      cookie,
      body: { ...body, username: hostile.replace('\0', ''), password: 'x' },
    })
  ).text()
  pages.interaction = anInteraction({ ...CONSENT, client, redirectUri })
  const consent = (await openForm(pages, '?account=%3Csvg%3E')).markup
  for (const page of [markup, failed, consent]) {
    t.notMatch(page, /<svg|<script|onload=alert\(1\)>"|\u202e|\0/)
    t.match(page, /&#34;&#62;&#60;svg onload=alert\(1\)&#62;&#39;&#96;&#38;/)
    const tags = page.replaceAll(/"[^"]*"/g, '""')
    t.strictSame(tags.match(/<[a-z]+[^>]* on[a-z]+=/gi), null, 'no event handler attribute')
  }
})

t.test('labels a client without a visible name as unnamed, and truncates a long name', async (t) => {
  const named = (name: string | undefined) =>
    anInteraction({ ...CONSENT, client: { id: 'c', name, verified: false } })
  const pages = await startPages(t, { interaction: named(undefined) })
  for (const name of [undefined, '', ' ', '\u200b\u202e\u2066', '\u3164']) {
    pages.interaction = named(name)
    t.match(
      (await openForm(pages)).markup,
      /An app without a name wants to use your account/,
      JSON.stringify(name),
    )
  }
  pages.interaction = named('x'.repeat(5_000))
  const { markup } = await openForm(pages)
  t.match(markup, `<bdi>${'x'.repeat(99)}…</bdi>`)
})

t.test(
  'an expired interaction, or an interaction of another browser, shows a page with the next step',
  async (t) => {
    const pages = await startPages(t)
    const { cookie, token } = await openForm(pages)
    const cases = [
      ['ERR_INTERACTION_EXPIRED', 400, /This page is no longer valid/],
      ['ERR_INTERACTION_OTHER_BROWSER', 403, /This page belongs to another browser/],
      ['ERR_INTERACTION_STEP', 400, /This step is already complete/],
    ] as const
    for (const [code, status, text] of cases) {
      pages.failure = new InteractionError(code, 'internal words')
      const shown = await fetch(`${pages.url}/oauth/interaction/uid-1`)
      const posted = await postForm(pages, 'cancel', { cookie, body: { form_token: token } })
      for (const response of [shown, posted]) {
        t.equal(response.status, status)
        assertPageHeaders(t, response, code)
        const markup = await response.text()
        t.match(markup, text)
        t.match(markup, /Request request-1/)
        t.notMatch(markup, /internal words/)
      }
    }
    t.strictSame(pages.logged, [])
  },
)

t.test('an internal failure shows a page without details and is logged', async (t) => {
  const pages = await startPages(t)
  const cases = [
    [new StoreError('ERR_STORE_UNAVAILABLE', 'redis://secret'), 503, '2', /Sign-in does not work right now/],
    [new TypeError('x is not a function at /srv/secret.ts'), 500, null, /Something went wrong on our side/],
  ] as const
  for (const [failure, status, retryAfter, text] of cases) {
    pages.failure = failure
    const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
    t.equal(response.status, status)
    t.equal(response.headers.get('retry-after'), retryAfter)
    assertPageHeaders(t, response, failure.name)
    const markup = await response.text()
    t.match(markup, text)
    t.notMatch(markup, /secret|at \//)
  }
  t.strictSame(
    pages.logged,
    cases.map(([err]) => ({
      event: 'page_failed',
      err,
      request_id: 'request-1',
      'client.address': '127.0.0.1',
      msg: 'a page failed',
    })),
  )
})

t.test('rejects consent for scopes that were not requested or not selected', async (t) => {
  const interaction = anInteraction({ ...CONSENT, scopes: ['openid', 'courses:read', 'courses:write'] })
  const pages = await startPages(t, { interaction })
  const { cookie, token } = await openForm(pages)
  const send = (fields: Record<string, string>) =>
    postForm(pages, 'consent', { cookie, body: { form_token: token, ...fields } })
  const none = await send({})
  t.equal(none.status, 400)
  const again = await none.text()
  t.match(again, /Select at least one box/)
  t.notMatch(again, / checked/, 'the page keeps the selection of the user')
  t.equal((await send({ 'scope.profile': 'on', 'scope.orders:read': 'on' })).status, 400)
  t.equal((await send({ 'scope.courses:read': 'off' })).status, 400)
  t.strictSame(pages.recorded, [])
  const some = await send({ 'scope.courses:read': 'on', 'scope.profile': 'on' })
  t.equal(some.status, 303)
  t.equal(some.headers.get('location'), 'http://127.0.0.1:51234/callback?code=c')
  t.equal(some.headers.get('cache-control'), 'no-store')
  t.equal(some.headers.get('referrer-policy'), 'no-referrer')
  t.strictSame(pages.recorded, [{ did: 'consented', scopes: ['openid', 'courses:read'] }])
})

t.test('a toggle changes only its scopes, and grants no scope', async (t) => {
  const interaction = anInteraction({
    ...CONSENT,
    scopes: ['openid', 'profile', 'courses:read', 'courses:write'],
  })
  const pages = await startPages(t, { interaction })
  const { cookie, token } = await openForm(pages)
  const post = async (fields: Record<string, string>) => {
    const response = await postForm(pages, 'consent', { cookie, body: { form_token: token, ...fields } })
    t.equal(response.status, 200)
    assertPageHeaders(t, response, 'toggled')
    const markup = await response.text()
    return {
      ticked: [...markup.matchAll(/name="scope\.([^"]+)" value="on" checked/g)].map(([, name]) => name),
      focus: /value="([^"]+)" autofocus/.exec(markup)?.[1],
    }
  }
  t.same(await post({ toggle: 'group.Courses', 'scope.courses:read': 'on' }), {
    ticked: ['courses:read', 'courses:write'],
    focus: 'group.Courses',
  })
  t.same(await post({ toggle: 'all' }), {
    ticked: ['profile', 'courses:read', 'courses:write'],
    focus: 'all',
  })
  t.same(await post({ toggle: 'group.<b>', 'scope.profile': 'on', 'scope.more:1': 'on' }), {
    ticked: ['profile'],
    focus: undefined,
  })
  t.strictSame(pages.recorded, [])
})

t.test('consent requires a signed-in user with an existing account', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  for (const interaction of [
    anInteraction(),
    anInteraction({ prompt: 'sign-in', accountId: CAROL.id }),
    anInteraction({ prompt: 'consent', accountId: undefined }),
    anInteraction({ prompt: 'consent', accountId: 'id-of-a-removed-account' }),
  ]) {
    pages.interaction = interaction
    const body = { form_token: token, 'scope.courses:read': 'on' }
    t.match((await openForm(pages)).markup, /<h1>Sign in<\/h1>/)
    const posted = await (await postForm(pages, 'consent', { cookie, body })).text()
    t.match(posted, /<h1>Sign in<\/h1>/)
    t.match(posted, 'name="username" value=""')
  }
  t.strictSame(pages.recorded, [])
})

t.test(
  'the sign-in page is a form of this server, and the correct password continues the flow',
  async (t) => {
    const pages = await startPages(t, { interaction: anInteraction({ loginHint: 'carol' }) })
    const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
    t.equal(response.status, 200)
    assertPageHeaders(t, response, 'sign-in')
    t.match(
      response.headers.get('content-security-policy'),
      "form-action 'self' http://127.0.0.1:51234",
      'Chromium applies form-action to the whole redirect chain',
    )
    const [setCookie] = response.headers.getSetCookie()
    t.match(setCookie, /^scopegate-form=[\w-]{43}; Path=\/oauth; HttpOnly; SameSite=Lax$/)
    const markup = await response.text()
    t.match(markup, /<html lang="en">/)
    t.match(markup, /value="carol" autocomplete="username"/)
    t.match(markup, /<strong><bdi>Course Planner<\/bdi><\/strong>/)
    const token = /name="form_token" value="([^"]+)"/.exec(markup)?.[1] ?? ''
    const cookie = setCookie?.split(';', 1)[0] ?? ''
    for (const headers of [
      {},
      { 'sec-fetch-site': 'same-origin', origin: 'null' },
      { origin: 'https://login.example' },
    ]) {
      const body = { ...CREDENTIALS, form_token: token }
      const posted = await postForm(pages, 'sign-in', { cookie, body, headers })
      t.equal(posted.status, 303)
      t.equal(posted.headers.get('location'), '/oauth/authorize/uid-1')
    }
    t.strictSame(pages.recorded[0], { did: 'signedIn', accountId: CAROL.id })
  },
)

t.test('two interactions in one browser share the cookie and keep their own tokens', async (t) => {
  const pages = await startPages(t)
  const first = await openForm(pages)
  const again = await fetch(`${pages.url}/oauth/interaction/uid-1`, { headers: { cookie: first.cookie } })
  t.strictSame(again.headers.getSetCookie(), [])
  t.match(await again.text(), first.token)
})

t.test('over https, the form cookie is Secure and has the prefix __Host-', async (t) => {
  const pages = await startPages(t, { secureCookies: true })
  const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
  t.match(
    response.headers.getSetCookie()[0],
    /^__Host-scopegate-form=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  )
})

t.test('the consent page shows the client, the account, the redirect target and the scopes', async (t) => {
  const pages = await startPages(t, { interaction: anInteraction(CONSENT) })
  const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
  t.equal(response.status, 200)
  assertPageHeaders(t, response, 'consent')
  t.notMatch(response.headers.get('content-security-policy'), 'form-action')
  const markup = await response.text()
  t.match(markup, /<h1><bdi>Course Planner<\/bdi> wants to use your account<\/h1>/)
  t.match(markup, /Not verified/)
  t.match(markup, /<bdi>Carol<\/bdi><\/strong> \(<bdi>carol<\/bdi>\)/)
  t.match(markup, /an app on this computer<\/strong> \(<bdi>127\.0\.0\.1:51234<\/bdi>\)/)
  t.match(markup, /Continue only if you just started this sign-in/)
  t.match(markup, /<h3 id="group-1">Courses<\/h3>/)
  t.match(markup, /Change courses <span class="badge changes">can change<\/span>/)
  t.notMatch(markup, /Sign you in|scope\.openid/)
  t.match(
    markup,
    /<button>Allow<\/button>\n<button class="quiet" formaction="[^"]+\/cancel">Cancel<\/button>/,
  )
})

t.test('a verified integration is shown with its host and without the warning', async (t) => {
  const client = { id: 'i', name: 'Mailer', verified: true }
  const redirectUri = 'https://mailer.example/callback'
  const pages = await startPages(t, { interaction: anInteraction({ ...CONSENT, client, redirectUri }) })
  const { markup } = await openForm(pages)
  t.match(markup, /<span class="badge">Verified<\/span>/)
  t.match(markup, /<bdi>mailer\.example<\/bdi>/)
  t.notMatch(markup, /Continue only if|Not verified/)
})

t.test('shows every scope of a long list, and a sentence for openid alone', async (t) => {
  const many = ['openid', 'courses:write', ...Array.from({ length: 12 }, (_, i) => `more:${i}`)]
  const pages = await startPages(t, { interaction: anInteraction({ ...CONSENT, scopes: many }) })
  const long = await openForm(pages)
  t.notMatch(long.markup, /<details/)
  t.match(long.markup, /<main class="wide">/)
  t.equal(long.markup.match(/type="checkbox"/g)?.length, 13)
  t.equal(
    long.markup.match(/role="checkbox"/g)?.length,
    4,
    'one for all, and one for each group with more than one scope',
  )
  pages.interaction = anInteraction({ ...CONSENT, scopes: ['openid'] })
  const { cookie, token, markup } = await openForm(pages)
  t.match(markup, /This app learns only that you signed in/)
  t.equal((await postForm(pages, 'consent', { cookie, body: { form_token: token } })).status, 303)
  t.strictSame(pages.recorded, [{ did: 'consented', scopes: ['openid'] }])
})

t.test('switching the account requires a sign-in during consent', async (t) => {
  const pages = await startPages(t, { interaction: anInteraction({ ...CONSENT, accountId: CAROL.id }) })
  t.match((await openForm(pages)).markup, /href="\/oauth\/interaction\/uid-1\?account=other"/)
  const { cookie, token, markup } = await openForm(pages, '?account=other')
  t.match(markup, /<h1>Sign in<\/h1>/)
  const body = { ...CREDENTIALS, form_token: token }
  t.equal((await postForm(pages, 'sign-in', { cookie, body })).status, 303)
})

t.test('Cancel on either page reports access_denied to the engine', async (t) => {
  const pages = await startPages(t)
  for (const interaction of [anInteraction(), anInteraction(CONSENT)]) {
    pages.interaction = interaction
    const { cookie, token } = await openForm(pages)
    const body = { form_token: token, 'scope.courses:read': 'on' }
    const response = await postForm(pages, 'cancel', { cookie, body })
    t.equal(response.status, 303)
    t.match(response.headers.get('location'), /error=access_denied/)
  }
  t.strictSame(pages.recorded, [{ did: 'denied' }, { did: 'denied' }])
})

const ORIGIN = { requestId: 'request-1', clientAddress: '127.0.0.1' }

t.test('reports each sign-in, consent and denial with client, account and origin', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  const post = async (step: 'sign-in' | 'consent' | 'cancel', fields: Record<string, string> = {}) => {
    const response = await postForm(pages, step, { cookie, body: { form_token: token, ...fields } })
    return [response.status, pages.events.splice(0)] as const
  }
  const who = { clientId: 'client-1', accountId: CAROL.id, origin: ORIGIN }
  const failed = { kind: 'sign_in_failed', ...who, reason: 'wrong_credentials' }
  t.strictSame(await post('sign-in', { username: 'carol', password: 'wrong' }), [400, [failed]])
  t.strictSame(await post('sign-in', { username: 'dave', password: 'wrong' }), [
    400,
    [{ ...failed, accountId: undefined }],
  ])
  t.strictSame(await post('sign-in', CREDENTIALS), [303, [{ kind: 'signed_in', ...who }]])
  pages.signedOut = 'id-bob'
  t.strictSame(await post('sign-in', CREDENTIALS), [
    303,
    [
      { kind: 'signed_out', ...who, accountId: 'id-bob' },
      { kind: 'signed_in', ...who },
    ],
  ])
  t.strictSame(await post('cancel'), [303, [{ kind: 'consent_denied', ...who, accountId: undefined }]])
  pages.interaction = anInteraction(CONSENT)
  t.strictSame(await post('consent', { 'scope.profile': 'on' }), [
    303,
    [{ kind: 'consent_given', ...who, scopes: ['openid', 'profile'] }],
  ])
  t.strictSame(await post('cancel'), [303, [{ kind: 'consent_denied', ...who }]])
})

t.test('each error page has its description, the service and the request ID', async (t) => {
  const limits = {
    passwordHashes: { maxConcurrent: 0, maxQueue: 0 },
    signIn: { failuresPerAccount: 1, failuresPerAddress: 100, windowMs: 60_000 },
  }
  const pages = await startPages(t, { limits })
  const { cookie, token } = await openForm(pages)
  const valid = { cookie, body: { form_token: token, ...CREDENTIALS } }
  for (const [form, status, retryAfter, details] of [
    [{ cookie, body: 'a' }, 400, null, 'form_unreadable: The form is malformed or repeats a field.'],
    [
      { cookie, body: CREDENTIALS },
      403,
      null,
      'form_refused: The form token is missing or invalid, or the form came from another site.',
    ],
    [valid, 503, '2', 'busy: Too many concurrent sign-ins.'],
    [valid, 429, '60', 'too_many_attempts: Try again in 60 seconds.'],
  ] as const) {
    const response = await postForm(pages, 'sign-in', form)
    t.equal(response.status, status)
    t.equal(response.headers.get('retry-after'), retryAfter)
    t.match(response.headers.get('content-security-policy'), /; form-action 'none'$/)
    const markup = await response.text()
    t.match(markup, `<pre lang="en">${details}</pre>`)
    t.match(markup, ' · Learning platform</title>')
    t.match(markup, '<footer>Request request-1</footer>')
  }
  t.strictSame(pages.events, [
    {
      kind: 'sign_in_failed',
      clientId: 'client-1',
      accountId: CAROL.id,
      reason: 'busy',
      origin: ORIGIN,
    },
    { kind: 'sign_in_throttled', isFirst: true, origin: ORIGIN },
  ])
  t.strictSame(pages.logged, [])
})

t.test('rejects the second of two concurrent sign-ins at the limit', async (t) => {
  const signIn = { failuresPerAccount: 1, failuresPerAddress: 100, windowMs: 60_000 }
  const pages = await startPages(t, { limits: { signIn } })
  const { cookie, token } = await openForm(pages)
  const { promise, resolve } = Promise.withResolvers<void>()
  pages.held = promise
  pages.reads = 0
  const body = { username: 'carol', password: 'wrong', form_token: token }
  const attempts = [0, 1].map(() => postForm(pages, 'sign-in', { cookie, body }))
  await until('both attempts read the interaction', async () => pages.reads === 2)
  resolve()
  const statuses = (await Promise.all(attempts)).map(({ status }) => status)
  t.strictSame(statuses.sort(), [400, 429])
})

t.test('a correct password does not count against the limit', async (t) => {
  const signIn = { failuresPerAccount: 1, failuresPerAddress: 100, windowMs: 60_000 }
  const pages = await startPages(t, { limits: { signIn } })
  const { cookie, token } = await openForm(pages)
  const attempt = async (password: string) =>
    (await postForm(pages, 'sign-in', { cookie, body: { username: 'carol', password, form_token: token } }))
      .status
  for (const [password, status] of [
    [PASSWORD, 303],
    [PASSWORD, 303],
    ['wrong', 400],
    [PASSWORD, 429],
  ] as const)
    t.equal(await attempt(password), status)
})

t.test('counts and reports sign-ins by client address', async (t) => {
  const signIn = { failuresPerAccount: 1, failuresPerAddress: 2, windowMs: 60_000 }
  const pages = await startPages(t, { limits: { signIn } })
  const { cookie, token } = await openForm(pages)
  const attempt = async (username: string, address: string) => {
    const body = { username, password: 'wrong', form_token: token }
    const headers = { 'x-forwarded-for': address }
    return (await postForm(pages, 'sign-in', { cookie, body, headers })).status
  }
  t.equal(await attempt('carol', '203.0.113.1'), 400)
  t.equal(await attempt('carol', '203.0.113.1'), 429)
  t.equal(await attempt('carol', '203.0.113.2'), 400)
  t.equal(await attempt('dave', '203.0.113.2'), 400)
  t.equal(await attempt('erin', '203.0.113.2'), 429)
  t.strictSame(
    pages.events.map(({ origin }) => origin?.clientAddress.at(-1)),
    ['1', '1', '2', '2', '2'],
  )
})

t.test('a POST without a body gets 400', async (t) => {
  const pages = await startPages(t)
  for (const step of ['sign-in', 'consent', 'cancel']) {
    const response = await fetch(`${pages.url}/oauth/interaction/uid-1/${step}`, { method: 'POST' })
    t.equal(response.status, 400, step)
    t.match(await response.text(), /We could not read your form/)
  }
})

t.test('passes user name and password to the account verification, also when they are absent', async (t) => {
  const verified: (readonly string[])[] = []
  const pages = await startPages(t, {
    verify: async (...credentials) => {
      verified.push(credentials)
      return undefined
    },
  })
  const { cookie, token } = await openForm(pages)
  for (const fields of [{ username: ' Carol', password: ' p ' }, {}] as Record<string, string>[])
    await postForm(pages, 'sign-in', { cookie, body: { form_token: token, ...fields } })
  t.strictSame(verified, [
    [' Carol', ' p '],
    ['', ''],
  ])
})

t.test('reads a form of 16 KiB, with a charset', async (t) => {
  const pages = await startPages(t)
  const { cookie, token } = await openForm(pages)
  const status = async (length: number) => {
    const body = `form_token=${token}&x=`.padEnd(length, 'x')
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    return (await postForm(pages, 'cancel', { cookie, body, headers })).status
  }
  t.equal(await status(16_384), 303)
  t.equal(await status(16_385), 413)
})

t.test('keeps the cookies of the engine when it sets the cookie of the form', async (t) => {
  const pages = await startPages(t)
  const own = /^scopegate-form=[\w-]{43}; Path=\/oauth; HttpOnly; SameSite=Lax$/
  for (const [cookies, expected] of [
    ['a=1; Path=/', ['a=1; Path=/', own]],
    [
      ['a=1', 'b=2'],
      ['a=1', 'b=2', own],
    ],
    [undefined, [own]],
  ] as const) {
    pages.engineCookies = cookies
    const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
    const received = response.headers.getSetCookie()
    t.match(received, expected)
    t.equal(received.length, expected.length)
  }
})

t.test('the forms and links of a page use its encoded path', async (t) => {
  const pages = await startPages(t, { interaction: anInteraction({ uid: 'a&b' }) })
  const signIn = await openForm(pages)
  t.match(signIn.markup, '<form method="post" action="/oauth/interaction/a%26b/sign-in">')
  t.match(signIn.markup, '<title>Sign in · Learning platform</title>')
  t.match(signIn.markup, '<footer>Request request-1</footer>')
  const posted = await postForm(pages, 'cancel', {
    cookie: signIn.cookie,
    body: { form_token: signIn.token },
  })
  t.equal(posted.status, 303, 'the form token is bound to the decoded path')
  pages.interaction = anInteraction({ ...CONSENT, uid: 'a&b' })
  const consent = await openForm(pages)
  t.match(consent.markup, 'href="/oauth/interaction/a%26b?account=other"')
  t.match(consent.markup, '<title>Allow access? · Learning platform</title>')
})

t.test('the sign-in page shows user names as visible text', async (t) => {
  const pages = await startPages(t, { interaction: anInteraction({ loginHint: 'ca\u202erol' }) })
  const { cookie, token, markup } = await openForm(pages)
  t.match(markup, 'name="username" value="carol"')
  for (const [username, shown] of [
    ['da\u202eve', 'dave'],
    ['\u202e', ''],
  ] as const) {
    const body = { username, password: 'x', form_token: token }
    const failed = await postForm(pages, 'sign-in', { cookie, body })
    t.match(await failed.text(), `name="username" value="${shown}"`)
  }
  pages.interaction = anInteraction()
  t.match((await openForm(pages)).markup, 'name="username" value=""')
})

t.test('the sign-in page allows forms to the server and to the redirect target', async (t) => {
  const pages = await startPages(t)
  for (const [redirectUri, formAction] of [
    ['http://127.0.0.1:51234/callback', "; form-action 'self' http://127.0.0.1:51234"],
    ['com.example.app:/callback', "; form-action 'self' com.example.app:"],
    ['http://[::1]:51234/callback', ''],
  ] as const) {
    pages.interaction = anInteraction({ redirectUri })
    const response = await fetch(`${pages.url}/oauth/interaction/uid-1`)
    const policy = response.headers.get('content-security-policy') ?? ''
    t.equal(policy.slice(policy.indexOf("base-uri 'none'") + "base-uri 'none'".length), formAction)
  }
})

t.test('each redirect after a form is 303, is not cached and sends no referrer', async (t) => {
  const pages = await startPages(t, { interaction: anInteraction(CONSENT) })
  const { cookie, token } = await openForm(pages)
  for (const [step, location] of [
    ['sign-in', '/oauth/authorize/uid-1'],
    ['consent', 'http://127.0.0.1:51234/callback?code=c'],
    ['cancel', 'http://127.0.0.1:51234/callback?error=access_denied'],
  ] as const) {
    const body = { ...CREDENTIALS, form_token: token, 'scope.profile': 'on' }
    const response = await postForm(pages, step, { cookie, body })
    t.equal(response.status, 303)
    t.strictSame(headerSet(response.headers), {
      'cache-control': 'no-store',
      location,
      'referrer-policy': 'no-referrer',
    })
  }
})

t.test('consent without a tick keeps the page wide and shows the message', async (t) => {
  const scopes = ['openid', 'courses:write', ...Array.from({ length: 12 }, (_, i) => `more:${i}`)]
  const client = { id: 'i', name: 'Mailer', verified: true }
  const pages = await startPages(t, { interaction: anInteraction({ ...CONSENT, scopes, client }) })
  const { cookie, token, markup } = await openForm(pages)
  t.equal(markup.match(/ checked/g)?.length, 13)
  t.notMatch(markup, 'role="alert"')
  const again = await postForm(pages, 'consent', { cookie, body: { form_token: token } })
  t.equal(again.status, 400)
  const shown = await again.text()
  for (const text of ['<main class="wide">', 'role="alert"', 'class="badge">Verified<', '<bdi>Mailer</bdi>'])
    t.match(shown, text)
})

function assertPageHeaders(t: Test, response: Response, name: string): void {
  const header = (key: string) => response.headers.get(key)
  t.equal(header('content-type'), 'text/html; charset=utf-8', name)
  t.match(
    header('content-security-policy'),
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; frame-ancestors 'none'; base-uri 'none'/,
    name,
  )
  t.equal(header('cache-control'), 'no-store', name)
  t.equal(header('referrer-policy'), 'no-referrer', name)
  t.equal(header('x-content-type-options'), 'nosniff', name)
}

t.test('without the store, the page of the code responds with 503 and signs nobody in', async (t) => {
  const unused = async () => undefined
  const pages = await startPages(t, {
    verify: async () => ({ ...CAROL, hasSecondFactor: true }),
    secondFactor: {
      acr: 'mfa',
      required: false,
      factors: {
        find: unused,
        issueProof: async (_accountId, place) => `proof ${place}`,
        readProof: async (text) =>
          text.startsWith('proof interaction ')
            ? { accountId: CAROL.id, secret: undefined, replaces: undefined, endMark: '' }
            : undefined,
        useCode: async () => {
          throw new StoreError('ERR_STORE_UNAVAILABLE', 'redis://secret')
        },
        set: async () => 'wrong',
        replaceRecoveryCodes: unused,
        remove: async () => false,
        reencryptAll: async () => 0,
      },
    },
  })
  const { cookie, token } = await openForm(pages)
  const asked = await postForm(pages, 'sign-in', { cookie, body: { ...CREDENTIALS, form_token: token } })
  t.equal(asked.status, 200)
  const [, proof = ''] = /name="proof" value="([^"]+)"/.exec(await asked.text()) ?? []
  t.equal(proof, `proof interaction ${pages.interaction.uid}`)
  const body = { form_token: token, proof, code: '123456' }
  const failed = await postForm(pages, 'second-factor', { cookie, body })
  t.equal(failed.status, 503)
  t.equal(failed.headers.get('retry-after'), '2')
  t.notMatch(await failed.text(), 'redis://secret')
  const foreign = await postForm(pages, 'second-factor', { cookie, body: { ...body, form_token: 'x' } })
  t.equal(foreign.status, 403)
  t.strictSame(pages.recorded, [])
})

t.test('the page of the code appears only for a class that the code reaches', async (t) => {
  const pages = await startPages(t, {
    account: { ...CAROL, hasSecondFactor: true },
    secondFactor: { acr: 'mfa', required: true, factors: {} as never },
  })
  for (const [acrValues, field] of [
    [undefined, 'code'],
    ['gold mfa', 'code'],
    ['gold', 'password'],
  ] as const) {
    pages.interaction = anInteraction({
      accountId: CAROL.id,
      stepUp: { accountId: CAROL.id, signedInSeconds: 1, endMark: '' },
      requested: { prompt: [], maxAgeSeconds: undefined, acrValues, uiLocales: undefined },
    })
    const page = await fetch(`${pages.url}/oauth/interaction/uid-1`)
    t.match(await page.text(), `name="${field}"`, String(acrValues))
  }
})
