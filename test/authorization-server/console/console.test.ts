import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { recordCredential } from '../../fixtures/capture.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const TOKEN = 'correct-horse-battery-staple-0123456789'
const EVIL_NAME = `<img src=x onerror="document.title='XSS'">&'"\u202E`
recordCredential(TOKEN)

const folder = mkdtempSync(join(tmpdir(), 'scopegate-console-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const adminTokenFile = join(folder, 'admin-token')
writeFileSync(adminTokenFile, `${TOKEN}\n`)

const server = await startServer(t, {
  management: { host: '127.0.0.1', port: 0, adminTokenFile },
  integrations: [
    {
      clientId: 'integration',
      clientName: 'Integration',
      redirectUris: ['https://app.example/callback'],
      clientSecretFile: undefined,
    },
  ],
})
const console = server.managementUrl
const own = { origin: console }

const evil = await registerClient(server, { client_name: EVIL_NAME })
const obtain = () => evil.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid courses:read' })

const isActive = async (token: string): Promise<unknown> => (await introspect(server, token))['active']
const audits = (action: string) => server.log().filter((line) => line['action'] === action)

async function signIn(token = TOKEN, headers: Readonly<Record<string, string>> = own) {
  const answer = await send(`${console}/console/sign-in`, {
    form: { token, next: '/console/grants' },
    headers,
  })
  const setCookie = answer.headers.get('set-cookie') ?? ''
  const cookie = setCookie.split(';')[0] ?? ''
  return { answer, setCookie, cookie }
}

/** Opens the page that asks before a revocation, and returns its form. */
async function openRevoke(cookie: string, query: Readonly<Record<string, string>>) {
  const page = await send(`${console}/console/revoke?${new URLSearchParams(query)}`, { headers: { cookie } })
  const formToken = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  return { page, formToken }
}

t.test('without a session, the console shows counts but no client and no grant', async (t) => {
  await obtain()
  const overview = await send(`${console}/`)
  t.equal(overview.status, 200)
  t.notMatch(overview.text, evil.clientId)
  t.notMatch(overview.text, 'Gateway</a>', 'without management.linkedConsole')
  t.match((await send(`${console}/?format=json`)).json, {
    issuer: server.baseUrl,
    store: 'sqlite',
    counts: { clients: { count: 1, isExact: true }, grants: { count: 1 } },
    tokens: 1,
  })
  for (const path of ['clients', 'grants', `client?client=${evil.clientId}`, 'revoke?client=x']) {
    const page = await send(`${console}/console/${path}`)
    t.equal(page.status, 401, path)
    t.match(page.text, '<h1>Sign in</h1>')
    t.notMatch(page.text, 'onerror')
  }
  const json = await send(`${console}/console/grants?format=json`)
  t.equal(json.status, 401)
  t.strictSame(json.json['error'], 'access_denied')
})

t.test('an operator signs in with the token, and signs out', async (t) => {
  const { answer, setCookie, cookie } = await signIn()
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/console/grants')
  t.match(setCookie, /^scopegate-console-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  const grants = await send(`${console}/console/grants?format=json`, { headers: { cookie } })
  t.match(grants.json, {
    grants: [{ account: 'alice', client: evil.clientId, scopes: ['courses:read', 'openid'] }],
  })
  const clients = await send(`${console}/console/clients?format=json&kind=registered`, {
    headers: { cookie },
  })
  t.match(clients.json, { clients: [{ client: evil.clientId, kind: 'registered', grants: 1 }], next: null })

  const page = await send(`${console}/console/clients`, { headers: { cookie } })
  t.notMatch(page.text, '<img', 'escapes the name of a client')
  t.match(page.text, '>Integration<')
  const formToken = /name="form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const out = await send(`${console}/console/sign-out`, {
    form: { form_token: formToken },
    headers: { cookie, ...own },
  })
  t.equal(out.status, 303)
  t.match(out.headers.get('set-cookie'), /=; .*Max-Age=0$/)
  t.equal((await send(`${console}/console/grants`, { headers: { cookie } })).status, 401)
  t.match(audits('console_signed_in').at(-1), {
    actor: 'operator',
    console_session: /^\w{12}$/,
    address: '127.0.0.1',
  })
  t.match(audits('console_signed_out').at(-1), { actor: 'operator', console_session: /^\w{12}$/ })
})

t.test('a revocation ends the tokens, and needs a form of the session', async (t) => {
  const { cookie } = await signIn()
  const { accessToken } = await obtain()
  const query = { account: 'alice', client: evil.clientId }
  const { page, formToken } = await openRevoke(cookie, query)
  t.equal(page.status, 200)
  t.match(page.headers.get('content-security-policy'), "form-action 'self'")
  const revoke = (form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
    send(`${console}/console/revoke`, { form, headers })
  const valid = { ...query, form_token: formToken }

  t.equal((await revoke({ ...valid, form_token: 'x'.repeat(43) }, { cookie, ...own })).status, 403)
  t.equal((await revoke(query, { cookie, ...own })).status, 403, 'no form token')
  t.equal((await revoke(valid, { cookie })).status, 403, 'no Origin')
  t.equal((await revoke(valid, { cookie, origin: 'null' })).status, 403)
  t.equal((await revoke(valid, { cookie, origin: 'http://127.0.0.1:1' })).status, 403)
  t.equal((await revoke(valid, own)).status, 401, 'no session')
  t.equal(await isActive(accessToken), true)

  const answer = await revoke(valid, { cookie, ...own })
  t.equal(answer.status, 303)
  t.equal(await isActive(accessToken), false)
  const next = await send(`${console}${answer.headers.get('location')}`, { headers: { cookie } })
  t.match(next.text, /role="status">\d grants? revoked\.</)
  t.match(audits('grant_revoked').at(-1), {
    actor: 'operator',
    client_id: evil.clientId,
    console_session: /^\w{12}$/,
    address: '127.0.0.1',
  })
})

t.test('a session ends when the file no longer contains its token', async (t) => {
  const { cookie } = await signIn()
  const next = `${TOKEN}-next`
  recordCredential(next)
  writeFileSync(adminTokenFile, `${next}\n`)
  t.equal((await signIn(next)).answer.status, 303, 'reads the file before it rejects a token')
  t.equal((await send(`${console}/console/grants`, { headers: { cookie } })).status, 401)
  writeFileSync(adminTokenFile, `${TOKEN}\n`)
})

t.test('sign-in leads only to pages of the console', async (t) => {
  for (const next of [
    '//evil.example/',
    'https://evil.example/console/grants',
    '/metrics',
    '/\\evil.example',
  ]) {
    const answer = await send(`${console}/console/sign-in`, { form: { token: TOKEN, next }, headers: own })
    t.equal(answer.headers.get('location'), '/', next)
  }
})

t.test('rejects wrong tokens and forms of other pages, then throttles the address', async (t) => {
  const foreign = await signIn(TOKEN, { origin: 'http://evil.example' })
  t.equal(foreign.answer.status, 403)
  const rebound = request(`${console}/console/sign-in`, {
    method: 'POST',
    headers: {
      host: 'evil.example',
      origin: 'http://evil.example',
      'content-type': 'application/x-www-form-urlencoded',
    },
  }).end(`token=${TOKEN}`)
  const [response] = await once(rebound, 'response')
  t.equal(response.resume().statusCode, 421, 'DNS rebinding')
  const wrong = await signIn(`${TOKEN}x`)
  t.equal(wrong.answer.status, 401)
  t.match(wrong.answer.text, 'This token is not correct.')
  t.equal(wrong.setCookie, '')
  const { address } = audits('console_sign_in_failed').at(-1) ?? {}
  t.equal(address, '127.0.0.1')
  let last = wrong.answer
  for (let attempt = 0; attempt < 10 && last.status === 401; attempt += 1)
    last = (await signIn('wrong')).answer
  t.equal(last.status, 429)
  t.match(last.headers.get('retry-after'), /^\d+$/)
  t.equal((await signIn()).answer.status, 429, 'also with the correct token')
  t.equal(audits('console_sign_in_throttled').length, 1)
})
