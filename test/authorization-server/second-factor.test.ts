import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { encode } from 'uqr'
import { insertAccount } from '../../authorization-server/accounts/accounts.ts'
import { createSecondFactors } from '../../authorization-server/accounts/second-factors.ts'
import { codeAt, STEP_SECONDS } from '../../authorization-server/accounts/totp.ts'
import { setUpPage } from '../../authorization-server/second-factor/second-factor-page.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { main } from '../../cli/main.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { decodeBase32 } from '../fixtures/decode-base32.ts'
import { type Browser, type Cookie, openBrowser, type Page } from '../fixtures/open-browser.ts'
import { type Client, registerClient } from '../fixtures/register-client.ts'
import { answerPage, findButton } from '../fixtures/sign-in.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'
import { until } from '../fixtures/until.ts'

const ACR = 'https://refeds.org/profile/mfa'
const SCOPE = 'openid courses:read'
const PATH = `${ENDPOINTS.account}/second-factor`
const optional = await startServer(t, {
  signIn: { local: true, providers: [], secondFactor: { acr: ACR, required: false } },
})
const required = await startServer(t, {
  signIn: { local: true, providers: [], secondFactor: { acr: ACR, required: true } },
})
const client = await registerClient(optional)

async function run(server: AuthorizationServer, command: string, typed = '') {
  const terminal = aTerminal({ typed, env: { SCOPEGATE_DATA_DIR: server.dataDir } })
  const code = await main(command.split(' '), terminal)
  return { code, ...terminal.said }
}

let accounts = 0
async function addAccount(server: AuthorizationServer) {
  accounts += 1
  const username = `person-${accounts}`
  const password = `the password of ${username}`
  const { code, err } = await run(server, `account add ${username}`, password)
  if (code !== 0) throw new Error(err)
  return { username, password }
}

function query(server: AuthorizationServer, sql: string, ...values: readonly string[]) {
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME))
  try {
    return database.prepare(sql).all(...values)
  } finally {
    database.close()
  }
}

/** Returns the current code. Makes the codes of earlier steps valid again, so that a test needs no later step. */
function nextCode(server: AuthorizationServer, secret: Buffer): string {
  query(
    server,
    "update accounts set second_factor = json_set(second_factor, '$.lastStep', 0) where second_factor is not null",
  )
  return codeAt(secret, Math.floor(Date.now() / 1_000 / STEP_SECONDS))
}

function shown(step: Awaited<ReturnType<Browser['visit']>>): Page {
  if (step.left) throw new Error(`the server redirected to ${step.location}`)
  return step
}

function fieldsOf(page: Page): readonly (string | undefined)[] {
  return page.forms.flatMap(({ controls }) =>
    controls.filter(({ type }) => type !== 'hidden' && type !== 'submit').map(({ name }) => name),
  )
}

async function submit(
  browser: Browser,
  page: Page,
  fields: Readonly<Record<string, string>>,
  ending?: RegExp,
) {
  const { form, button } =
    ending === undefined ? { form: page.forms[0], button: undefined } : findButton(page, ending)
  if (form === undefined) throw new Error(`no form:\n${page.html}`)
  return browser.submit(form, fields, button)
}

/** Starts an authorization of the client `of`, and types the password. */
async function typePassword(
  browser: Browser,
  person: { readonly username: string; readonly password: string },
  of: Client = client,
  overrides: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const page = shown(await browser.visit(of.authorizeUrl(SCOPE, CHALLENGE, overrides)))
  return shown(await submit(browser, page, person))
}

const VERIFIER = 'v'.repeat(43)
const CHALLENGE = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'

function secretIn(server: AuthorizationServer, { html }: Page): Buffer {
  const [, key] = /<code>([A-Z2-7 ]+)<\/code>/.exec(html) ?? []
  if (key === undefined) throw new Error(`no key:\n${html}`)
  server.secret(key)
  server.secret(key.replaceAll(' ', ''))
  return decodeBase32(key)
}

function codesIn(server: AuthorizationServer, { html }: Page): readonly string[] {
  const codes = [...html.matchAll(/<li><code>([A-Z2-7-]{19})<\/code>/g)].map(([, code = '']) => code)
  for (const code of codes) server.secret(code)
  return codes
}

/** Opens the page of the second factor in a signed-in browser. */
async function openManagement(
  browser: Browser,
  person: { readonly username: string; readonly password: string },
) {
  const page = shown(await browser.visit(`${optional.baseUrl}${ENDPOINTS.account}`))
  if (fieldsOf(page).includes('password')) await submit(browser, page, person)
  return shown(await browser.visit(`${optional.baseUrl}${PATH}`))
}

/** Uses the account page. */
async function setUp(person: { readonly username: string; readonly password: string }) {
  const browser = openBrowser(optional.baseUrl)
  const management = await openManagement(browser, person)
  const page = shown(await submit(browser, management, { password: person.password }, /\/set-up$/))
  const secret = secretIn(optional, page)
  const done = shown(
    await submit(browser, page, { code: codeAt(secret, Math.floor(Date.now() / 1_000 / STEP_SECONDS)) }),
  )
  return { browser, page, secret, done, codes: codesIn(optional, done) }
}

async function tokenClaims(redirect: URL, of: Client = client): Promise<Readonly<Record<string, unknown>>> {
  const answer = await of.exchange({ code: redirect.searchParams.get('code') ?? '', verifier: VERIFIER })
  const { idToken = '' } = of.readTokens(answer)
  return JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString())
}

async function allow(browser: Browser, page: Awaited<ReturnType<Browser['visit']>>): Promise<URL> {
  const step = await answerPage(browser, shown(page))
  if (!step.left) throw new Error(step.html)
  return step.location
}

function audits(server: AuthorizationServer, action: string) {
  return server.log().filter((line) => line['event'] === 'audit' && line['action'] === action)
}

t.test('§2 of RFC 8176: a sign-in with a password and a code has the methods pwd, otp and mfa', async (t) => {
  const person = await addAccount(optional)
  const { page, secret, done, codes } = await setUp(person)
  t.match(page.html, 'otpauth://totp/Learning%20platform:')
  t.match(page.html, /<svg [^>]*role="img" aria-label="QR code of the key">/)
  t.notMatch(page.html, '<script')
  t.match(done.html, 'Your recovery codes')
  t.equal(codes.length, 10)
  const browser = openBrowser(optional.baseUrl)
  const codePage = await typePassword(browser, person)
  t.equal(codePage.status, 200)
  t.match(codePage.html, 'Type your code')
  t.strictSame(fieldsOf(codePage), ['code'])
  const wrong = shown(await submit(browser, codePage, { code: '000000' }))
  t.equal(wrong.status, 400)
  t.match(wrong.html, 'The code is wrong')
  const code = nextCode(optional, secret)
  const claims = await tokenClaims(await allow(browser, await submit(browser, wrong, { code })))
  t.match(claims, { acr: ACR, amr: ['pwd', 'otp', 'mfa'] })
  const again = openBrowser(optional.baseUrl)
  const replayed = shown(await submit(again, await typePassword(again, person), { code }))
  t.equal(replayed.status, 400, 'a code is valid once')
  const [recovery = ''] = codes
  const recovered = await tokenClaims(await allow(again, await submit(again, replayed, { code: recovery })))
  t.match(recovered, { acr: ACR, amr: ['pwd', 'mfa'] })
  t.strictSame((recovered['amr'] as string[]).length, 2)
  const third = openBrowser(optional.baseUrl)
  const used = shown(await submit(third, await typePassword(third, person), { code: recovery }))
  t.equal(used.status, 400, 'a recovery code is valid once')
  const [{ id = '' } = {}] = query(optional, 'select id from accounts where username = ?', person.username)
  t.match(
    audits(optional, 'signed_in').filter(({ subject, second_factor: used }) => subject === id && used),
    [{ second_factor: 'otp' }, { second_factor: 'recovery_code' }],
  )
  t.equal(
    audits(optional, 'sign_in_failed').filter(
      ({ subject, reason }) => subject === id && reason === 'wrong_code',
    ).length,
    3,
  )
  t.equal(audits(optional, 'second_factor_set').filter(({ subject }) => subject === id).length, 1)
})

t.test('the set-up page has the link as a QR code, if the link is short enough', async (t) => {
  const bodyWith = (serviceName: string) =>
    String(
      setUpPage({
        locale: 'en',
        formToken: 'token',
        proof: undefined,
        path: PATH,
        account: { username: 'carol' },
        serviceName,
        secret: Buffer.alloc(20, 7),
        required: false,
      }).body,
    )
  const short = bodyWith('Service')
  const link = /href="(otpauth:[^"]+)"/.exec(short)?.[1]?.replaceAll('&#38;', '&') ?? ''
  const { data } = encode(link, { border: 0, ecc: 'L' })
  const drawn = [...short.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`)
  // The picture has 4 light modules on each side.
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`${x + 4} ${y + 4}`] : [])))
  t.strictSame(drawn, dark)
  t.match(link, /^otpauth:\/\/totp\/Service:carol\?secret=/)
  const long = bodyWith('品'.repeat(100))
  t.notMatch(long, '<svg')
  t.match(long, 'href="otpauth:')
})

t.test('a new second factor ends the other sessions of the account', async (t) => {
  const person = await addAccount(optional)
  const thief = openBrowser(optional.baseUrl)
  await allow(thief, await typePassword(thief, person))
  t.match(shown(await thief.visit(`${optional.baseUrl}${ENDPOINTS.account}`)).html, 'Apps with access')
  const { browser } = await setUp(person)
  t.strictSame(fieldsOf(shown(await thief.visit(`${optional.baseUrl}${ENDPOINTS.account}`))), [
    'username',
    'password',
  ])
  t.match(
    shown(await browser.visit(`${optional.baseUrl}${ENDPOINTS.account}`)).html,
    'Apps with access',
    'the session of the set-up stays',
  )
})

t.test('without a second factor, the password is sufficient, and acr_values get an error', async (t) => {
  const person = await addAccount(optional)
  const browser = openBrowser(optional.baseUrl)
  const first = await tokenClaims(await allow(browser, await typePassword(browser, person)))
  t.strictSame([first['acr'], first['amr']], [undefined, ['pwd']])
  for (const acr of [ACR, 'other']) {
    const left = await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: acr }))
    t.equal(left.left && left.location.searchParams.get('error'), 'unmet_authentication_requirements', acr)
  }
  const asked = await openBrowser(optional.baseUrl).visit(
    client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: ACR }),
  )
  t.strictSame(fieldsOf(shown(asked)), ['username', 'password'], 'a person without a session signs in first')
})

t.test('§5 of RFC 9470: acr_values ask a session with a password for the code only', async (t) => {
  const person = await addAccount(optional)
  const { browser, secret } = await setUp(person)
  const first = await tokenClaims(
    await allow(browser, await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE))),
  )
  t.strictSame(first['amr'], ['pwd'])
  query(
    optional,
    "update artifacts set payload = json_set(payload, '$.loginTs', json_extract(payload, '$.loginTs') - 100) where model = 'Session'",
  )
  const stepUp = shown(
    await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: `other ${ACR}` })),
  )
  t.strictSame(fieldsOf(stepUp), ['code'])
  const wrong = shown(await submit(browser, stepUp, { code: '' }))
  t.equal(wrong.status, 400)
  const code = nextCode(optional, secret)
  const claims = await tokenClaims(await allow(browser, await submit(browser, wrong, { code })))
  t.match(claims, { acr: ACR, amr: ['pwd', 'otp', 'mfa'], auth_time: Number(first['auth_time']) - 100 })
  const reached = shown(await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: ACR })))
  t.match(reached.url, /\/oauth\/interaction\//)
  t.notOk(fieldsOf(reached).includes('code'), 'the session has the class')
  for (const overrides of [{ max_age: '0' }, { prompt: 'login' }]) {
    const page = shown(
      await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: ACR, ...overrides })),
    )
    t.strictSame(fieldsOf(page), ['username', 'password'])
    t.strictSame(fieldsOf(shown(await submit(browser, page, person))), ['code'])
  }
  const silent = await openBrowser(optional.baseUrl).visit(
    client.authorizeUrl(SCOPE, CHALLENGE, { prompt: 'none' }),
  )
  t.equal(silent.left && silent.location.searchParams.get('error'), 'login_required')
})

t.test('with prompt=login, a session without the class does not prevent another person', async (t) => {
  const weak = await addAccount(optional)
  const strong = await addAccount(optional)
  const { secret } = await setUp(strong)
  const browser = openBrowser(optional.baseUrl)
  await allow(browser, await typePassword(browser, weak))
  const page = await typePassword(browser, strong, client, { acr_values: ACR, prompt: 'login' })
  t.strictSame(fieldsOf(page), ['code'])
  const signedIn = await submit(browser, page, { code: nextCode(optional, secret) })
  t.match(await tokenClaims(await allow(browser, signedIn)), { acr: ACR })
  const other = openBrowser(optional.baseUrl)
  await allow(other, await typePassword(other, weak))
  const unknown = await other.visit(
    client.authorizeUrl(SCOPE, CHALLENGE, { acr_values: 'x', prompt: 'login' }),
  )
  t.equal(unknown.left && unknown.location.searchParams.get('error'), 'unmet_authentication_requirements')
})

t.test('a session that becomes older than max_age on the page of the code needs the password', async (t) => {
  const person = await addAccount(optional)
  const { browser, secret } = await setUp(person)
  const overrides = { acr_values: ACR, max_age: '3600' }
  const page = shown(await browser.visit(client.authorizeUrl(SCOPE, CHALLENGE, overrides)))
  t.strictSame(fieldsOf(page), ['code'])
  query(
    optional,
    `update artifacts set payload = json_set(payload, '$.loginTs', unixepoch() - 3601)
      where model = 'Session' and account_id = (select id from accounts where username = ?)`,
    person.username,
  )
  const late = shown(await submit(browser, page, { code: nextCode(optional, secret) }))
  t.equal(late.status, 400)
  t.strictSame(fieldsOf(late), ['username', 'password'])
})

t.test('the address after the sign-in is not valid before the code', async (t) => {
  const person = await addAccount(optional)
  await setUp(person)
  const browser = openBrowser(optional.baseUrl)
  const page = await typePassword(browser, person)
  const uid = /interaction\/([^/]+)/.exec(page.url)?.[1]
  const resumed = shown(await browser.visit(`${optional.baseUrl}${ENDPOINTS.authorization}/${uid}`))
  t.strictSame(fieldsOf(resumed), ['username', 'password'])
  t.equal(
    query(
      optional,
      "select 1 from artifacts where model = 'Interaction' and json_extract(payload, '$.result') is not null",
    ).length,
    0,
  )
  const account = await openBrowser(optional.baseUrl).visit(`${optional.baseUrl}${ENDPOINTS.account}`)
  t.strictSame(fieldsOf(shown(account)), ['username', 'password'])
})

t.test('a code page without proof and without a session asks for the password', async (t) => {
  const person = await addAccount(optional)
  const { secret } = await setUp(person)
  const browser = openBrowser(optional.baseUrl)
  const codePage = await typePassword(browser, person)
  const [form] = codePage.forms
  if (form === undefined) throw new Error('no form')
  const without = { ...form, fields: form.fields.filter(([name]) => name !== 'proof') }
  for (const proof of [undefined, '', 'AAAA'])
    t.strictSame(
      fieldsOf(
        shown(
          await browser.submit(without, {
            code: nextCode(optional, secret),
            ...(proof === undefined ? {} : { proof }),
          }),
        ),
      ),
      ['username', 'password'],
    )
  const other = openBrowser(optional.baseUrl)
  const otherPage = await typePassword(other, person)
  const proof = form.fields.find(([name]) => name === 'proof')?.[1] ?? ''
  const moved = shown(await submit(other, otherPage, { proof, code: nextCode(optional, secret) }))
  t.strictSame(fieldsOf(moved), ['username', 'password'], 'a proof of another interaction')
})

t.test(
  'a disabled account, a new password and a removed second factor end the wait for the code',
  async (t) => {
    const person = await addAccount(optional)
    const { secret } = await setUp(person)
    for (const [change, undo] of [
      ['account disable', 'account enable'],
      ['account reset-password', 'account reset-password'],
      ['account reset-second-factor', undefined],
    ] as const) {
      const browser = openBrowser(optional.baseUrl)
      const page = await typePassword(browser, person)
      const changed = await run(optional, `${change} ${person.username}`, 'another long password')
      t.equal(changed.code, 0, changed.err)
      const next = shown(await submit(browser, page, { code: nextCode(optional, secret) }))
      t.equal(next.status, 400, change)
      t.match(next.html, /Sign in again|This page is no longer valid/, change)
      if (undo !== undefined) await run(optional, `${undo} ${person.username}`, person.password)
    }
    t.match(
      (await run(optional, `account reset-second-factor ${person.username}`)).err,
      'has no second factor',
    )
  },
)

t.test('account reset-second-factor removes the second factor, and account show shows it', async (t) => {
  const person = await addAccount(optional)
  await setUp(person)
  const show = async () => JSON.parse((await run(optional, `account show ${person.username} --json`)).out)
  t.equal((await show()).secondFactor, true)
  const done = await run(optional, `account reset-second-factor ${person.username}`)
  t.equal(done.out, `scopegate: ${person.username} has no second factor any more.\n`)
  t.equal((await show()).secondFactor, false)
  t.match(audits(optional, 'second_factor_reset').at(-1), { actor: 'operator', subject: (await show()).id })
  const browser = openBrowser(optional.baseUrl)
  await allow(browser, await typePassword(browser, person))
})

t.test('ten wrong codes pause the codes of the account, also from other browsers', async (t) => {
  const person = await addAccount(optional)
  const { secret } = await setUp(person)
  const browser = openBrowser(optional.baseUrl)
  let page = await typePassword(browser, person)
  for (let count = 0; count < 10; count++) {
    page = shown(await submit(browser, page, { code: '000000' }))
    t.equal(page.status, 400)
  }
  const code = nextCode(optional, secret)
  const throttled = shown(await submit(browser, page, { code }))
  t.equal(throttled.status, 429)
  t.ok(Number(throttled.headers.get('retry-after')) > 0)
  const other = openBrowser(optional.baseUrl)
  t.equal(shown(await submit(other, await typePassword(other, person), { code })).status, 429)
})

t.test('the account page replaces and removes the second factor with the password and a code', async (t) => {
  const person = await addAccount(optional)
  const { browser, secret, page: setUpAgain } = await setUp(person)
  const repeated = shown(await submit(browser, setUpAgain, { code: nextCode(optional, secret) }))
  t.equal(repeated.status, 400, 'the form of the set-up works once')
  t.match(repeated.html, 'changed in another window')
  const management = await openManagement(browser, person)
  t.strictSame(fieldsOf(management), ['username', 'password', 'code'])
  for (const step of ['set-up', 'recovery-codes', 'remove'])
    for (const [password, code] of [
      [person.password, ''],
      [person.password, '000000'],
      ['wrong password', nextCode(optional, secret)],
    ] as const) {
      const rejected = shown(await submit(browser, management, { password, code }, new RegExp(`/${step}$`)))
      t.equal(rejected.status, 400, step)
      t.match(rejected.html, 'The password or the code is wrong')
    }
  const { password } = person
  const created = shown(
    await submit(browser, management, { password, code: nextCode(optional, secret) }, /\/recovery-codes$/),
  )
  const [recovery = ''] = codesIn(optional, created)
  const replacing = shown(await submit(browser, management, { password, code: recovery }, /\/set-up$/))
  const newSecret = secretIn(optional, replacing)
  const wrong = shown(await submit(browser, replacing, { code: nextCode(optional, secret) }))
  t.equal(wrong.status, 400)
  t.ok(newSecret.equals(secretIn(optional, wrong)), 'the page keeps the secret')
  const replaced = shown(await submit(browser, wrong, { code: nextCode(optional, newSecret) }))
  t.equal(codesIn(optional, replaced).length, 10)
  const old = shown(
    await submit(browser, management, { password, code: nextCode(optional, secret) }, /\/remove$/),
  )
  t.equal(old.status, 400, 'the replaced app')
  const removed = shown(
    await submit(browser, management, { password, code: nextCode(optional, newSecret) }, /\/remove$/),
  )
  t.match(removed.html, 'You sign in with your password only.')
  for (const action of ['recovery_codes_created', 'second_factor_removed'])
    t.equal(audits(optional, action).length, 1, action)
})

t.test('a set-up of another session, and of a person without a session, is not accepted', async (t) => {
  const person = await addAccount(optional)
  const pages = await Promise.all(
    [0, 1].map(async () => {
      const browser = openBrowser(optional.baseUrl)
      const management = await openManagement(browser, person)
      const page = shown(await submit(browser, management, { password: person.password }, /\/set-up$/))
      return { browser, page, secret: secretIn(optional, page) }
    }),
  )
  const [first, second] = pages
  if (first === undefined || second === undefined) throw new Error('no pages')
  const proof = second.page.forms[0]?.fields.find(([name]) => name === 'proof')?.[1] ?? ''
  const stolen = shown(
    await submit(first.browser, first.page, { proof, code: nextCode(optional, second.secret) }),
  )
  t.equal(stolen.status, 400)
  const stranger = shown(
    await submit(openBrowser(optional.baseUrl), first.page, { code: nextCode(optional, first.secret) }),
  )
  t.strictSame(fieldsOf(stranger), ['username', 'password'])
  t.equal(
    query(
      optional,
      'select 1 from accounts where username = ? and second_factor is not null',
      person.username,
    ).length,
    0,
  )
})

t.test('with mode required, a person sets up an authenticator app during the sign-in', async (t) => {
  const person = await addAccount(required)
  const of = await registerClient(required)
  const browser = openBrowser(required.baseUrl)
  const page = await typePassword(browser, person, of)
  t.match(page.html, 'asks for a code from an authenticator app at each sign-in')
  const secret = secretIn(required, page)
  const wrong = shown(await submit(browser, page, { code: '000000' }))
  t.equal(wrong.status, 400)
  t.ok(secret.equals(secretIn(required, wrong)), 'the page keeps the secret')
  const done = shown(await submit(browser, wrong, { code: nextCode(required, secret) }))
  t.equal(codesIn(required, done).length, 10)
  const twice = shown(await submit(browser, wrong, { code: nextCode(required, secret) }))
  t.equal(twice.status, 400)
  t.match(twice.html, 'Your authenticator app is set up already')
  const [, next = ''] = /<a href="([^"]+)">I have/.exec(done.html) ?? []
  const claims = await tokenClaims(
    await allow(browser, await browser.visit(new URL(next, required.baseUrl))),
    of,
  )
  t.match(claims, { acr: ACR, amr: ['pwd', 'otp', 'mfa'] })
  const expired = shown(await submit(browser, wrong, { code: nextCode(required, secret) }))
  t.equal(expired.status, 400)
  t.match(expired.html, 'This page is no longer valid')
  const management = shown(await browser.visit(`${required.baseUrl}${PATH}`))
  t.throws(() => findButton(management, /\/remove$/), 'the page has no button to remove it')
  const forced = management.forms[0]
  if (forced === undefined) throw new Error('no form')
  const { password } = person
  await browser.submit(
    forced,
    { password, code: nextCode(required, secret) },
    {
      name: undefined,
      value: '',
      formAction: `${required.baseUrl}${PATH}/remove`,
    },
  )
  t.equal(query(required, 'select 1 from accounts where second_factor is not null').length, 1)
})

t.test('with mode required, an earlier session with a password needs the second factor', async (t) => {
  const person = await addAccount(required)
  const of = await registerClient(required)
  const browser = openBrowser(required.baseUrl)
  const page = await typePassword(browser, person, of)
  const secret = secretIn(required, page)
  const done = shown(await submit(browser, page, { code: nextCode(required, secret) }))
  const [, next = ''] = /<a href="([^"]+)">I have/.exec(done.html) ?? []
  await allow(browser, await browser.visit(new URL(next, required.baseUrl)))
  query(required, "update artifacts set payload = json_remove(payload, '$.acr') where model = 'Session'")
  const stepUp = shown(await browser.visit(of.authorizeUrl(SCOPE, CHALLENGE)))
  t.strictSame(fieldsOf(stepUp), ['code'])
  const silent = await browser.visit(of.authorizeUrl(SCOPE, CHALLENGE, { prompt: 'none' }))
  t.equal(silent.left && silent.location.searchParams.get('error'), 'login_required')
  const cookies = browser.cookies as Map<string, Cookie>
  for (const [key, { name }] of cookies) if (name === 'scopegate_session') cookies.delete(key)
  const ended = shown(await submit(browser, stepUp, { code: nextCode(required, secret) }))
  t.equal(ended.status, 400)
  t.strictSame(fieldsOf(ended), ['username', 'password'], 'the session has ended')
})

t.test('with mode off, the server encrypts the secrets with the newest cookie key', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  writeFileSync(join(dataDir, 'cookie-keys'), `${'n'.repeat(43)}\n${'o'.repeat(43)}\n`, { mode: 0o600 })
  const nowSeconds = () => Math.floor(Date.now() / 1_000)
  const store = openSqliteStore(join(dataDir, SQLITE_FILE_NAME), { ...TOKEN_SETTINGS, nowSeconds })
  t.teardown(() => store.close())
  const { accounts } = store
  const added = await insertAccount(accounts, { username: 'carol', origin: 'operator', nowSeconds: 1 })
  const id = added?.id ?? ''
  const factorsWith = (...keys: readonly string[]) =>
    createSecondFactors({ store: accounts, cookieKeys: () => keys, nowSeconds })
  const earlier = factorsWith('o'.repeat(43))
  const proof = await earlier.readProof((await earlier.issueProof(id, 'a', 'set-up')) ?? '', 'a')
  if (proof?.secret === undefined) throw new Error('no secret')
  const step = Math.floor(Date.now() / 1_000 / STEP_SECONDS)
  t.equal((await earlier.set(proof, codeAt(proof.secret, step))).length, 10)
  const off = await startServer(t, { dataDir })
  const isEncrypted = async () => off.log().some(({ event }) => event === 'second_factors_encrypted')
  await until('the secrets are encrypted', isEncrypted, 10_000)
  t.equal(await factorsWith('n'.repeat(43)).useCode(id, codeAt(proof.secret, step + 1)), 'otp')
})
