import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createPasswordLinks } from '../../authorization-server/password-links/password-links.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { openSqliteStore } from '../../authorization-server/store/sqlite-store.ts'
import { main } from '../../cli/main.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser, type Page } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'
import { TOKEN_SETTINGS } from '../fixtures/token-settings.ts'

const server = await startServer(t)
const PASSWORD = 'correct horse battery staple'
const OTHER = 'another battery staple'
const SCOPE = 'openid courses:read'

async function run(command: string, typed = '') {
  const terminal = aTerminal({ typed, env: { SCOPEGATE_DATA_DIR: server.dataDir } })
  const code = await main(command.split(' '), terminal)
  return { code, ...terminal.said }
}

async function createLink(command: string): Promise<string> {
  const { code, out, err } = await run(`${command} --json`)
  if (code !== 0) throw new Error(`${command}: ${err}`)
  const { link } = JSON.parse(out)
  server.secret(new URL(link).searchParams.get('token') ?? '')
  return link
}

async function visit(link: string | URL, browser = openBrowser(server.baseUrl)) {
  const page = await browser.visit(link)
  if (page.left) throw new Error('the server redirected to another origin')
  const submit = async (fields: Readonly<Record<string, string>>, from: Page = page): Promise<Page> => {
    const [form] = from.forms
    if (form === undefined) throw new Error('the page has no form')
    const next = await browser.submit(form, fields)
    if (next.left) throw new Error('the server redirected to another origin')
    return next
  }
  return { page, submit }
}

async function signIn(username: string, password: string) {
  const client = await registerClient(server, { client_name: 'Linked' })
  const browser = openBrowser(server.baseUrl)
  return { client, ...(await client.obtainTokens({ browser, scope: SCOPE, person: { username, password } })) }
}

const isActive = async (token: string): Promise<unknown> => (await introspect(server, token))['active']
const ACTIONS: readonly unknown[] = ['account_added', 'password_link_created', 'password_set']
const audits = () =>
  server
    .log()
    .filter(({ action, account_origin: origin }) => ACTIONS.includes(action) && origin !== 'development')

function isRejected(
  t: { equal: typeof import('tap').t.equal; match: typeof import('tap').t.match },
  page: Page,
) {
  t.equal(page.status, 400)
  t.match(page.html, 'This link is no longer valid')
  t.match(page.html, 'link_invalid: The link is unknown, expired or used.')
}

t.test('account invite prints a link with which the person sets a password, once', async (t) => {
  const invited = await run('account invite Carol --email carol@school.example --full-name <Carol>')
  t.equal(invited.code, 0)
  t.match(invited.out, /^http.*\/oauth\/set-password\?token=[\w-]{43}\n/)
  t.match(invited.out, /\nscopegate: carol can set a password with this link, once, until \S+Z\. Send /)
  const [link = ''] = invited.out.split('\n')
  server.secret(new URL(link).searchParams.get('token') ?? '')
  await t.rejects(signIn('carol', PASSWORD), 'an invited person has no password')

  const { page, submit } = await visit(link)
  t.equal(page.status, 200)
  t.match(page.html, '&#60;Carol&#62;')
  t.match(page.html, 'The password must have 12 to 256 characters.')
  t.equal(page.headers.get('referrer-policy'), 'no-referrer')
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.match(page.headers.get('content-security-policy'), /default-src 'none'.*form-action 'self'/)
  t.notMatch(page.html, '<script')

  for (const [fields, text] of [
    [{ password: PASSWORD, repeated: OTHER }, 'The two passwords are different.'],
    [{ password: 'short', repeated: 'short' }, 'it must have at least 12 characters'],
    [{ password: 'x'.repeat(257), repeated: 'x'.repeat(257) }, 'it must have at most 256 characters'],
  ] as const) {
    const again = await submit(fields)
    t.equal(again.status, 400)
    t.match(again.html, text)
    t.match(again.html, 'aria-describedby="rules wrong" aria-invalid="true"')
    t.notMatch(again.html, `value="${fields.password}"`)
  }
  const done = await submit({ password: PASSWORD, repeated: PASSWORD })
  t.equal(done.status, 200)
  t.match(done.html, 'You can sign in now.')
  await signIn('carol', PASSWORD)

  isRejected(t, (await visit(link)).page)
  isRejected(t, await submit({ password: OTHER, repeated: OTHER }))
  await t.rejects(signIn('carol', OTHER))
  t.match(audits(), [
    { action: 'account_added', actor: 'operator', subject: /^[0-9a-f]{32}$/ },
    { action: 'password_link_created', actor: 'operator', subject: /^[0-9a-f]{32}$/ },
    { action: 'password_set', link: 'invitation', subject: /^[0-9a-f]{32}$/, request_id: /./ },
  ])
})

t.test(
  'account reset-password --link ends sessions and grants when the person sets the password',
  async (t) => {
    const { accessToken, refreshToken, client } = await signIn('carol', PASSWORD)
    const replaced = await createLink('account reset-password carol --link')
    const link = await createLink('account reset-password carol --link --expires 1h')
    isRejected(t, (await visit(replaced)).page)
    t.equal(await isActive(accessToken), true)
    const { submit } = await visit(link)
    const done = await submit({ password: OTHER, repeated: OTHER })
    t.match(done.html, 'You are signed out everywhere')
    t.equal(await isActive(accessToken), false)
    t.equal((await client.refresh(refreshToken)).status, 400)
    t.match(JSON.parse((await run('account show carol --json')).out), {
      grants: 0,
      sessions: 0,
      disabled: null,
    })
    await t.rejects(signIn('carol', PASSWORD))
    const again = await signIn('carol', OTHER)
    t.equal(await isActive(again.accessToken), true)
    t.match(audits().at(-1), { action: 'password_set', link: 'reset' })
  },
)

t.test('two concurrent forms set one password', async (t) => {
  const link = await createLink('account reset-password carol --link')
  const { submit } = await visit(link)
  const passwords = Array.from({ length: 5 }, (_, at) => `one of five passwords ${at}`)
  const pages = await Promise.all(passwords.map((password) => submit({ password, repeated: password })))
  const winners = passwords.filter((_, at) => pages[at]?.status === 200)
  t.equal(winners.length, 1)
  await signIn('carol', winners[0] ?? '')
  for (const page of pages) if (page.status !== 200) isRejected(t, page)
})

t.test('one of three concurrent links for one account works', async (t) => {
  const links = await Promise.all(
    Array.from({ length: 3 }, () => createLink('account reset-password carol --link')),
  )
  const usable = []
  for (const link of links) if ((await visit(link)).page.status === 200) usable.push(link)
  t.equal(usable.length, 1)
  const { submit } = await visit(String(usable[0]))
  t.equal((await submit({ password: PASSWORD, repeated: PASSWORD })).status, 200)
  for (const link of links) isRejected(t, (await visit(link)).page)
})

t.test('a new link and a new password of the operator end the earlier link, also an open form', async (t) => {
  const early = await visit(await createLink('account reset-password carol --link'))
  const next = await createLink('account reset-password carol --link')
  isRejected(t, await early.submit({ password: OTHER, repeated: OTHER }))
  t.equal((await run('account reset-password carol', PASSWORD)).code, 0)
  isRejected(t, (await visit(next)).page)
  await signIn('carol', PASSWORD)
})

t.test('a link that a new link replaces after find() is not consumed', async (t) => {
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => 1_000,
  })
  t.teardown(() => store.close())
  const links = createPasswordLinks({ store, issuer: 'https://login.test' })
  const create = async () => {
    const link = await links.create({ accountId: 'a', purpose: 'reset' }, 60)
    return new URL(link).searchParams.get('token') ?? ''
  }
  const early = await create()
  t.ok(await links.find(early))
  const next = await create()
  t.equal(await links.consume(early), false)
  t.equal(await links.consume(next), true)
  t.equal(await links.consume(next), false)
  const last = await create()
  t.equal(await links.consume(last), true, 'a used link does not prevent a new link')
})

t.test('a link that expired, or whose account is disabled, is rejected', async (t) => {
  const link = await createLink('account reset-password carol --link')
  await run('account disable carol')
  isRejected(t, (await visit(link)).page)
  const disabled = await run('account reset-password carol --link')
  t.equal(disabled.code, 1)
  t.match(disabled.err, 'carol is disabled. Enable the account with `scopegate account enable` first.')
  await run('account enable carol')
  isRejected(t, (await visit(link)).page)
  const expired = await createLink('account reset-password carol --link')
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME))
  database.exec("update artifacts set expires_at = 1 where model = 'PasswordLink'")
  database.close()
  isRejected(t, (await visit(expired)).page)
})

t.test('a form without the token of this browser is rejected', async (t) => {
  const link = await createLink('account reset-password carol --link')
  const token = new URL(link).searchParams.get('token') ?? ''
  const rejected = await send(`${server.baseUrl}${ENDPOINTS.setPassword}`, {
    form: { token, form_token: 'wrong', password: OTHER, repeated: OTHER },
  })
  t.equal(rejected.status, 403)
  const { page, submit } = await visit(link)
  t.equal(page.status, 200, 'the link is still usable')
  t.equal((await submit({ form_token: 'wrong', password: OTHER, repeated: OTHER })).status, 403)
})

t.test('the commands reject wrong input', async (t) => {
  for (const [command, code, text] of [
    ['account invite carol', 1, 'use `scopegate account reset-password NAME --link`'],
    ['account invite a/b', 1, 'A username must have 1 to 64 characters'],
    ['account invite dora --expires 31d', 1, 'A link must be valid for 1 minute to 30 days.'],
    ['account invite dora --expires soon', 2, '--expires takes a duration'],
    ['account reset-password carol --expires 1h', 2, '--expires requires --link'],
    ['account reset-password alice --link', 1, 'alice is a development account'],
  ] as const) {
    const { code: actual, err } = await run(command)
    t.equal(actual, code, command)
    t.match(err, text)
  }
  t.equal((await run('account show dora')).code, 1, 'no account is added')
})

t.test('ten unknown links pause the page for this address', async (t) => {
  const unknown = `${server.baseUrl}${ENDPOINTS.setPassword}?token=${'x'.repeat(43)}`
  const statuses: number[] = []
  for (let at = 0; at < 11; at++) statuses.push((await visit(unknown)).page.status)
  t.equal(statuses.at(-1), 429)
  t.ok((await visit(unknown)).page.headers.get('retry-after'))
  t.equal(statuses.filter((status) => status === 400).length + statuses.filter((s) => s === 429).length, 11)
})
