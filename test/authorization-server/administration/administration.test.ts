import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openAdminSocket } from '../../../authorization-server/administration/admin-socket.ts'
import { findForeignControl } from '../../../authorization-server/administration/socket-path.ts'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { main } from '../../../cli/main.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const SCOPE = 'openid courses:read'
const PASSWORD = 'correct horse battery staple'

const server = await startServer(t, {
  integrations: [
    { clientId: 'integration', clientName: 'Integration', redirectUris: [], clientSecretFile: undefined },
  ],
})

async function run(command: string, typed = '') {
  const terminal = aTerminal({ typed, env: { SCOPEGATE_DATA_DIR: server.dataDir } })
  const code = await main(command.split(' '), terminal)
  return { code, ...terminal.said }
}

async function runJson(command: string, typed = '') {
  const { code, out, err } = await run(`${command} --json`, typed)
  if (code !== 0) throw new Error(`${command}: ${err}`)
  return JSON.parse(out)
}

/** Returns the audit lines of the operator since the last call. */
let seen = 0
function audits(): readonly Record<string, unknown>[] {
  const all = server.log().filter(({ event, actor }) => event === 'audit' && actor === 'operator')
  const added = all.slice(seen)
  seen = all.length
  return added
}

async function signIn(person?: { readonly username: string; readonly password: string }) {
  const client = await registerClient(server, { client_name: 'Administered' })
  const browser = openBrowser(server.baseUrl)
  const tokens = await client.obtainTokens({ browser, scope: SCOPE, ...(person ? { person } : {}) })
  return { client, browser, tokens }
}

const isActive = async (token: string): Promise<unknown> => (await introspect(server, token))['active']

t.test('account list and show describe an account', async (t) => {
  await run(`account add carol --email carol@school.example --full-name Carol`, PASSWORD)
  const { accounts } = await runJson('account list --search CAROL')
  t.equal(accounts.length, 1)
  t.match(accounts[0], {
    username: 'carol',
    name: 'Carol',
    email: 'carol@school.example',
    origin: 'operator',
    provider: null,
    groups: [],
    roles: [],
    created: /Z$/,
    disabled: null,
  })
  await signIn({ username: 'carol', password: PASSWORD })
  t.match(await runJson('account show carol'), { username: 'carol', grants: 1, sessions: 1 })
  t.match(await runJson(`account show ${accounts[0].id}`), { username: 'carol' })
  const table = await run('account list')
  t.match(table.out, /^USERNAME +NAME +EMAIL +ORIGIN +CREATED +DISABLED\n/)
  t.match(table.out, /\ncarol +Carol +carol@school\.example +operator +\S+ +-\n/)
  t.match(table.out, /\n3 accounts\n$/)
  t.equal(audits().length, 0, 'reading is not a change')
})

t.test('account disable ends the tokens, prevents sign-in, and account enable allows it again', async (t) => {
  const { tokens } = await signIn({ username: 'carol', password: PASSWORD })
  t.equal(await isActive(tokens.accessToken), true)
  const done = await run('account disable carol')
  t.equal(done.out, 'scopegate: carol is disabled: all sessions, grants and tokens have ended.\n')
  t.equal(await isActive(tokens.accessToken), false)
  t.match(await runJson('account show carol'), { disabled: /Z$/, grants: 0, sessions: 0 })
  await t.rejects(signIn({ username: 'carol', password: PASSWORD }))
  t.match(await runJson('account enable carol'), { disabled: null })
  t.equal(await isActive(tokens.accessToken), false)
  const again = await signIn({ username: 'carol', password: PASSWORD })
  t.equal(await isActive(again.tokens.accessToken), true)
  t.match(audits(), [
    { action: 'account_disabled', subject: /^[0-9a-f]{32}$/ },
    { action: 'account_enabled', subject: /^[0-9a-f]{32}$/ },
  ])
})

t.test('account reset-password sets the password and ends the tokens', async (t) => {
  const { tokens } = await signIn({ username: 'carol', password: PASSWORD })
  for (const typed of ['short', '', 'x'.repeat(1_100)])
    t.equal((await run('account reset-password carol', typed)).code, 1)
  t.equal(await isActive(tokens.accessToken), true, 'a rejected password changes nothing')
  const short = await run('account reset-password carol', 'short')
  t.equal(short.code, 1)
  t.match(short.err, 'A password must have at least 12 characters.')
  t.match(await runJson('account show carol'), { disabled: null })
  const next = 'another battery staple'
  t.equal((await run('account reset-password carol', `${next}\n`)).code, 0)
  t.equal(await isActive(tokens.accessToken), false)
  await t.rejects(signIn({ username: 'carol', password: PASSWORD }))
  await signIn({ username: 'carol', password: next })
  t.strictSame([...new Set(audits().map(({ action }) => action))], ['grant_revoked', 'password_reset'])
  t.notMatch(server.output(), next)

  await run('account disable carol')
  await run('account reset-password carol', PASSWORD)
  t.match(await runJson('account show carol'), { disabled: /Z$/ }, 'a disabled account stays disabled')
  await run('account enable carol')
  const development = await run('account reset-password alice', PASSWORD)
  t.equal(development.code, 1)
  t.match(development.err, 'alice is a development account')
  audits()
})

t.test('account reset-password ends a sign-in that has no session yet', async (t) => {
  const client = await registerClient(server, { client_name: 'Slow' })
  const browser = openBrowser(server.baseUrl)
  const page = await browser.visit(client.authorizeUrl(SCOPE, 'c'.repeat(43)))
  const form = page.left ? undefined : page.forms.find(({ action }) => action.endsWith('/sign-in'))
  const fields = Object.fromEntries(form?.fields ?? [])
  const cookie = [...browser.cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')
  const signedIn = await send(String(form?.action), {
    headers: { cookie },
    form: { ...fields, username: 'carol', password: PASSWORD },
  })
  t.equal(signedIn.status, 303)
  t.equal((await run('account reset-password carol', PASSWORD)).code, 0)
  const resumed = await browser.visit(new URL(String(signedIn.headers.get('location')), server.baseUrl))
  t.match(resumed, { left: false, status: 400 })
  t.strictSame((await runJson('session list --account carol')).sessions, [])
  audits()
})

t.test('grant list shows the scopes, and grant revoke ends the tokens', async (t) => {
  const { client, tokens } = await signIn()
  const { grants } = await runJson(`grant list --client ${client.clientId}`)
  t.match(grants, [
    {
      grant: /^[\w-]{43}$/,
      account: 'alice',
      client: client.clientId,
      scopes: ['courses:read', 'openid'],
      created: /Z$/,
      lastToken: /Z$/,
      expires: /Z$/,
    },
  ])
  t.equal((await introspect(server, tokens.accessToken))['grant'], grants[0].grant)
  t.strictSame((await runJson('grant list --account alice --older-than 1h')).grants, [])
  const done = await run(`grant revoke ${grants[0].grant}`)
  t.equal(done.out, 'scopegate: 1 grant revoked.\n')
  t.equal(await isActive(tokens.accessToken), false)
  t.equal((await client.refresh(tokens.refreshToken)).status, 400)
  t.match(audits(), [{ action: 'grant_revoked', grant: grants[0].grant }])
  const again = await run(`grant revoke ${grants[0].grant}`)
  t.equal(again.code, 1)
  t.match(again.err, `The grant ${grants[0].grant} does not exist.`)
})

t.test('grant revoke with options revokes only the selected grants', async (t) => {
  const [one, two] = [await signIn(), await signIn()]
  t.strictSame(await runJson('grant revoke --account alice --older-than 1h'), { revoked: [] })
  const { revoked } = await runJson(`grant revoke --account alice --client ${one.client.clientId}`)
  t.equal(revoked.length, 1)
  t.equal(await isActive(one.tokens.accessToken), false)
  t.equal(await isActive(two.tokens.accessToken), true)
  t.equal((await run('grant revoke')).code, 2)
  t.equal((await run('grant revoke name --account alice')).code, 2)
  const wrong = await run('grant revoke --older-than soon')
  t.equal(wrong.code, 2)
  t.match(wrong.err, '--older-than takes a duration such as 90d, not "soon"')
  audits()
})

t.test('client list, show and remove', async (t) => {
  const { client, tokens } = await signIn()
  const { clients } = await runJson('client list')
  const byId = new Map(clients.map((one: { client: string }) => [one.client, one]))
  t.match(byId.get('gateway'), { kind: 'configured' })
  t.match(byId.get('integration'), { kind: 'configured', name: 'Integration' })
  t.match(byId.get(client.clientId), {
    kind: 'registered',
    name: 'Administered',
    redirectUris: [client.redirectUri],
    registered: /Z$/,
  })
  t.match(await runJson(`client show ${client.clientId}`), { client: client.clientId, grants: 1 })
  t.match(await runJson('client show integration'), { kind: 'configured', grants: 0 })
  const kept = await run('client remove integration')
  t.equal(kept.code, 1)
  t.match(kept.err, 'This client is in the configuration.')
  const done = await run(`client remove ${client.clientId}`)
  t.equal(done.out, `scopegate: ${client.clientId} is removed; 1 grant revoked.\n`)
  t.equal(await isActive(tokens.accessToken), false)
  const answer = await send(`${server.baseUrl}${ENDPOINTS.authorization}?client_id=${client.clientId}`)
  t.equal(answer.status, 400)
  t.equal((await run(`client remove ${client.clientId}`)).code, 1)
  t.match(
    audits().map(({ action, client_id: id }) => [action, id]),
    [
      ['client_removed', client.clientId],
      ['grant_revoked', client.clientId],
    ],
  )
})

t.test('session list and end: the person must sign in again, and tokens stay valid', async (t) => {
  const { client, browser, tokens } = await signIn({ username: 'bob', password: 'bob' })
  const { sessions } = await runJson('session list --account bob')
  t.match(sessions, [{ session: /^[\w-]{43}$/, account: 'bob', signedIn: /Z$/, expires: /Z$/ }])
  t.ok(
    (await runJson('session list')).sessions.some(
      ({ session }: { session: string }) => session === sessions[0].session,
    ),
  )
  const done = await run(`session end ${sessions[0].session}`)
  t.equal(done.out, 'scopegate: 1 session ended.\n')
  t.equal(await isActive(tokens.accessToken), true)
  const page = await browser.visit(client.authorizeUrl(SCOPE, 'c'.repeat(43)).href)
  t.match(page, { left: false, html: 'name="password"' })
  await signIn({ username: 'bob', password: 'bob' })
  t.match(await runJson('session end --account bob'), { ended: [/^[\w-]{43}$/] })
  t.strictSame((await runJson('session list --account bob')).sessions, [])
  const unknown = await run(`session end ${hashId('unknown')}`)
  t.equal(unknown.code, 1)
  t.match(
    audits().map(({ action }) => action),
    ['session_ended', 'session_ended'],
  )
  const metrics = await send(`${server.managementUrl}/metrics`)
  t.match(metrics.text, /^scopegate_oauth_sessions_ended_total 2$/m)
})

t.test('account remove removes the account with its tokens', async (t) => {
  const { tokens } = await signIn({ username: 'carol', password: PASSWORD })
  t.equal((await run('account remove carol')).code, 0)
  t.equal(await isActive(tokens.accessToken), false)
  const gone = await run('account show carol')
  t.equal(gone.code, 1)
  t.equal(
    gone.err,
    'scopegate: The account carol does not exist. List the accounts with `scopegate account list`.\n',
  )
  t.match(audits(), [{ action: 'account_removed' }])
})

t.test(
  'only the owner of the server can connect, and a request that is not valid changes nothing',
  async (t) => {
    const folder = join(server.dataDir, 'admin')
    const [name = ''] = readdirSync(folder)
    const path = join(folder, name)
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.equal(statSync(folder).mode & 0o777, 0o700)
    const post = async (target: string, body: string): Promise<string> => {
      const socket = connect(path).setEncoding('utf8')
      let answer = ''
      socket.on('data', (text) => (answer += text))
      socket.end(
        `POST ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
      await once(socket, 'close')
      return answer
    }
    for (const body of [
      '[]',
      '{',
      '{"account":7}',
      '{"account":""}',
      '{}',
      `{"account":"${'x'.repeat(2_000)}"}`,
    ])
      t.match(await post('/account/disable', body), 'HTTP/1.1 400', body.slice(0, 40))
    t.match(await post('/account/disable', `{"account":"${'x'.repeat(20_000)}"}`), 'HTTP/1.1 413')
    t.match(await post('/grant/revoke', '{"olderThanSeconds":-1}'), 'HTTP/1.1 400')
    t.match(await post('/grant/revoke', '{}'), 'HTTP/1.1 400')
    t.match(await post('/account/constructor', '{}'), 'HTTP/1.1 404')
    t.equal(audits().length, 0)
  },
)

t.test('a command does not connect to a socket that another user may control', async (t) => {
  const folder = join(server.dataDir, 'admin')
  const [name = ''] = readdirSync(folder)
  const socket = join(folder, name)
  for (const [path, mode, unsafe] of [
    [folder, 0o700, 0o707],
    [folder, 0o700, 0o770],
    [socket, 0o600, 0o606],
  ] as const) {
    chmodSync(path, unsafe)
    const { code, err } = await run('account reset-password carol', PASSWORD)
    chmodSync(path, mode)
    t.equal(code, 3)
    t.match(err, `scopegate: ${path} is writable for other users (mode ${unsafe.toString(8)}).`)
    t.match(err, `remove the folder ${folder}, and restart the server.`)
  }
  t.equal(audits().length, 0)
  t.equal((await run('account list')).code, 0)
  const own = 1_000
  t.equal(findForeignControl({ uid: own, mode: 0o140600 }, [0, own]), undefined)
  t.equal(findForeignControl({ uid: 0, mode: 0o040755 }, [0, own]), undefined)
  t.equal(findForeignControl({ uid: 1_001, mode: 0o140600 }, [0, own]), 'belongs to another user (id 1001)')
})

t.test('a server creates no socket in a folder that others can write to', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
  const folder = join(dataDir, 'admin')
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  mkdirSync(folder)
  chmodSync(folder, 0o777)
  const warnings: unknown[] = []
  const log = (line: unknown) => void warnings.push(line)
  const socket = await openAdminSocket({
    dataDir,
    port: 1,
    administration: async () => ({ done: {} }),
    logger: { warn: log, error: log },
  })
  t.teardown(() => socket.close())
  const message = `the folder ${folder} is writable for other users (mode 777)`
  t.match(warnings, [{ event: 'admin_socket_unavailable', err: { message } }])
  t.strictSame(readdirSync(folder), [])
})

t.test('a command without a server fails with exit code 3', async (t) => {
  const terminal = aTerminal({ env: { SCOPEGATE_DATA_DIR: t.testdir() } })
  t.equal(await main(['account', 'list'], terminal), 3)
  t.match(terminal.said.err, 'no authorization server runs with the data folder')
})
