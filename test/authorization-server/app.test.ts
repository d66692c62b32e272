import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { startAuthorizationServer } from '../../authorization-server/app.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { type Client, makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, type Parameters, send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { SILENT_LOGGER } from '../fixtures/silent-logger.ts'
import { aConfig, startServer } from '../fixtures/start-authorization-server.ts'
import { until } from '../fixtures/until.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)

const introspect = (token: string, form: Parameters = {}): Promise<Answer> =>
  send(`${server.baseUrl}${ENDPOINTS.introspection}`, {
    form: { client_id: 'gateway', client_secret: server.gatewaySecret, token, ...form },
  })
const userinfo = (token: string): Promise<Answer> => send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { token })
const isActive = async (token: string): Promise<boolean> => (await introspect(token)).json['active'] === true
const obtain = (scope: string, more: { overrides?: Parameters; on?: Client } = {}) =>
  (more.on ?? client).obtainTokens({
    browser,
    scope,
    ...(more.overrides === undefined ? {} : { overrides: more.overrides }),
  })
const audits = (action: string) => server.log().filter((line) => line['action'] === action)

t.test('accepts a code only with its client, its redirect URI and its verifier', async (t) => {
  const other = await registerClient(server)
  const wrong: Readonly<Record<string, Parameters>> = {
    'another client': { client_id: other.clientId },
    'another redirect URI': { redirect_uri: 'http://127.0.0.1:49152/other' },
    'another port': { redirect_uri: 'http://127.0.0.1:49153/callback' },
    'another verifier': { code_verifier: 'x'.repeat(43) },
    'no verifier': { code_verifier: undefined },
    'a verifier that is too short': { code_verifier: 'short' },
  }
  const grant = await client.obtainCode({ browser, scope: 'openid' })
  for (const [name, parameters] of Object.entries(wrong)) {
    const answer = await client.exchange(grant, parameters)
    t.equal(answer.status, 400, name)
    t.match(answer.json['error'], /^invalid_(grant|request)$/, name)
  }
  const answer = await client.exchange(grant)
  t.equal(answer.status, 200, 'no rejected request consumed the code')
  client.readTokens(answer)
})

t.test('a second use of a code revokes its tokens', async (t) => {
  const grant = await client.obtainCode({ browser, scope: 'openid' })
  const tokens = client.readTokens(await client.exchange(grant))
  t.match(await client.exchange(grant), { status: 400, json: { error: 'invalid_grant' } })
  t.notOk(await isActive(tokens.accessToken))
  t.match(await client.refresh(tokens.refreshToken), { status: 400, json: { error: 'invalid_grant' } })
  t.ok(audits('code_reused').length > 0)
})

t.test('of 100 concurrent exchanges of one code, one gets 200, and its tokens are revoked', async (t) => {
  const grant = await client.obtainCode({ browser, scope: 'openid' })
  const answers = await Promise.all(Array.from({ length: 100 }, () => client.exchange(grant)))
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  t.same(new Set(answers.map(({ json }) => json['error'])), new Set([undefined, 'invalid_grant']))
  for (const answer of won) t.notOk(await isActive(client.readTokens(answer).accessToken))
})

t.test('a second authorization of the same client is independent of the first', async (t) => {
  const [one, other] = [await obtain('courses:read'), await obtain('courses:read')]
  t.equal((await client.revoke(one.refreshToken)).status, 200)
  t.notOk(await isActive(one.accessToken))
  t.ok(await isActive(other.accessToken))
})

t.test('refresh can narrow the scope, and never widens it', async (t) => {
  const { refreshToken } = await obtain('courses:read courses:write')
  t.match(await client.refresh(refreshToken, { scope: 'orders:read' }), {
    status: 400,
    json: { error: 'invalid_scope' },
  })
  const narrow = await client.refresh(refreshToken, { scope: 'courses:read' })
  t.match(narrow, { status: 200, json: { scope: 'courses:read', token_type: 'Bearer', expires_in: 900 } })
  client.readTokens(narrow)
})

t.test(
  'accepts the parameter resource with or without a trailing slash at both endpoints, and a request without it',
  async (t) => {
    const issuer = server.baseUrl
    const combinations: readonly [Parameters, Parameters][] = [
      [{}, {}],
      [{ resource: issuer }, {}],
      [{ resource: `${issuer}/` }, { resource: issuer }],
      [{ resource: issuer }, { resource: `${issuer}/` }],
      [{}, { resource: `${issuer}/` }],
      [{ resource: [issuer, `${issuer}/`] }, {}],
    ]
    for (const [overrides, parameters] of combinations) {
      const tokens = await client.obtainTokens(
        { browser, scope: 'openid courses:read', overrides },
        parameters,
      )
      t.equal((await introspect(tokens.accessToken)).json['aud'], issuer)
      t.equal((await userinfo(tokens.accessToken)).status, 200)
      client.readTokens(await client.refresh(tokens.refreshToken, parameters))
    }
    const grant = await client.obtainCode({ browser, scope: 'openid' })
    t.match(await client.exchange(grant, { resource: 'https://elsewhere.example' }), {
      status: 400,
      json: { error: 'invalid_target' },
    })
  },
)

t.test(
  'introspection returns all token data to the gateway, and only inactive to other clients',
  async (t) => {
    const { accessToken, refreshToken } = await obtain('openid courses:read')
    const { json } = await introspect(accessToken)
    t.match(json, {
      active: true,
      client_id: client.clientId,
      scope: 'openid courses:read',
      sub: /^[\w-]{20,}$/,
      aud: server.baseUrl,
      iss: server.baseUrl,
      exp: Number,
      iat: Number,
      token_type: 'Bearer',
      grant: /^[\w-]{43}$/,
    })
    t.same(
      (await introspect(refreshToken)).json,
      { active: false },
      'a refresh token is inactive for the gateway',
    )

    const confidential = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
    const as = (of: Client) => ({ client_id: of.clientId, client_secret: of.clientSecret })
    t.same((await introspect(accessToken, as(confidential))).json, { active: false }, 'another client')
    const own = await obtain('courses:read', { on: confidential })
    t.match((await introspect(own.accessToken, as(confidential))).json, { active: true })
  },
)

t.test(
  'revocation requires only client_id, and revokes only tokens of that client, also access tokens',
  async (t) => {
    const tokens = await obtain('openid courses:read')
    const other = await registerClient(server)
    t.equal((await other.revoke(tokens.accessToken)).status, 200)
    t.ok(await isActive(tokens.accessToken), 'another client cannot revoke the token')
    t.equal((await client.revoke('never-issued')).status, 200, 'RFC 7009 §2.2')

    const answer = await client.revoke(tokens.accessToken)
    t.equal(answer.status, 200)
    t.equal(answer.text, '')
    t.same((await introspect(tokens.accessToken)).json, { active: false })
    const after = await userinfo(tokens.accessToken)
    t.match(after, { status: 401, json: { error: 'invalid_token' } })
    t.match(after.headers.get('www-authenticate'), `Bearer error="invalid_token"`)
    t.match(
      after.headers.get('www-authenticate'),
      `resource_metadata="${server.baseUrl}/.well-known/oauth-protected-resource"`,
    )
    t.match(await client.refresh(tokens.refreshToken), { status: 400, json: { error: 'invalid_grant' } })
  },
)

t.test('userinfo returns the claims that the scopes allow', async (t) => {
  const { accessToken: all } = await obtain('openid profile email')
  t.match((await userinfo(all)).json, {
    sub: /\S/,
    name: 'Alice Example',
    preferred_username: 'alice',
    email: 'alice@example.com',
  })
  const { accessToken: little } = await obtain('openid')
  t.same(Object.keys((await userinfo(little)).json), ['sub'])
  const { accessToken: none } = await obtain('courses:read')
  const denied = await userinfo(none)
  t.match(denied, { status: 403, json: { error: 'insufficient_scope' } })
  t.match(denied.headers.get('www-authenticate'), /error="insufficient_scope".*scope="openid"/)
  for (const authorization of ['Bearer', 'Bearer a b', 'Basic YTpi', `Bearer ${all}x`, `Token ${all}`])
    t.match(await send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { headers: { authorization } }), {
      status: 401,
      json: { error: 'invalid_token' },
    })
})

t.test(
  'the page of a finished authorization explains the situation, and does not report an error of the user or app',
  async (t) => {
    const gone = `${server.baseUrl}${ENDPOINTS.authorization}/an-interaction-that-is-over`
    const response = await fetch(gone, { headers: { accept: 'text/html' } })
    t.equal(response.status, 400)
    t.match(response.headers.get('content-type'), 'text/html')
    const page = await response.text()
    t.match(page, 'This page is no longer valid')
    t.notMatch(page, 'the wrong way')
  },
)

t.test('cancel redirects to the client with access_denied, state and iss', async (t) => {
  const before = audits('consent_denied').length
  const { challenge } = makePkce()
  const location = await signIn(browser, client.authorizeUrl('openid', challenge), { decision: 'cancel' })
  t.match(Object.fromEntries(location.searchParams), {
    error: 'access_denied',
    state: 'a-state',
    iss: server.baseUrl,
  })
  t.equal(audits('consent_denied').length, before + 1)
})

t.test(
  'success redirects with code, state and iss, and every cookie has the protective attributes',
  async (t) => {
    const fresh = openBrowser(server.baseUrl)
    const { redirect } = await client.obtainCode({ browser: fresh, scope: 'openid' })
    t.same([...redirect.searchParams.keys()].toSorted(), ['code', 'iss', 'state'])
    t.equal(redirect.searchParams.get('iss'), server.baseUrl)
    for (const { name, attributes } of fresh.cookies.values()) {
      t.match(attributes, /httponly/, name)
      t.match(attributes, /samesite=(lax|strict)/, name)
    }
  },
)

t.test('validates a pushed authorization request like any other request, and accepts it once', async (t) => {
  const { verifier, challenge } = makePkce()
  const push = (overrides: Parameters = {}) =>
    send(`${server.baseUrl}${ENDPOINTS.pushedAuthorizationRequest}`, {
      form: {
        ...Object.fromEntries(client.authorizeUrl('openid courses:read', challenge).searchParams),
        ...overrides,
      },
    })
  t.match(await push({ scope: undefined }), { status: 400, json: { error: 'invalid_request' } })
  t.match(await push({ scope: 'courses:juggle' }), { status: 400, json: { error: 'invalid_scope' } })
  t.match(await push({ state: undefined }), { status: 400, json: { error: 'invalid_request' } })
  const pushed = await push()
  t.equal(pushed.status, 201)
  const address = new URL(`${server.baseUrl}${ENDPOINTS.authorization}`)
  address.search = new URLSearchParams({
    client_id: client.clientId,
    request_uri: String(pushed.json['request_uri']),
  }).toString()
  const location = await signIn(browser, address)
  const code = location.searchParams.get('code') ?? ''
  const answer = await client.exchange({ code, verifier })
  t.match(answer, { status: 200, json: { scope: 'openid courses:read' } })
  client.readTokens(answer)
})

t.test('the log contains no token, code or secret, and the audit lines record each action', async (t) => {
  for (const action of [
    'client_registered',
    'consent_given',
    'token_issued',
    'token_refreshed',
    'token_revoked',
  ])
    t.ok(audits(action).length > 0, action)
  t.match(audits('token_issued')[0], {
    event: 'audit',
    client_id: /\S/,
    subject: /\S/,
    scope: /\S/,
    grant: /^[\w-]{43}$/,
  })
})

t.test('an internal error of the engine gets 500 server_error without details', async (t) => {
  const { refreshToken } = await obtain('courses:read')
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME))
  // Damages the scope of the stored refresh tokens, because the engine expects a string.
  database.exec(`update artifacts set payload = json_set(payload, '$.scope', 5) where model = 'RefreshToken'`)
  database.close()
  const answer = await client.refresh(refreshToken)
  t.equal(answer.status, 500)
  t.equal(answer.headers.get('retry-after'), null, 'a retry does not help')
  t.strictSame(answer.json, {
    error: 'server_error',
    error_description: 'Internal error. Quote the request ID in reports.',
  })
  t.match(
    server.log().findLast(({ event }) => event === 'failed'),
    { level: 'error', endpoint: 'token', err: { type: 'TypeError', stack: String } },
  )
})

t.test('a server in production logs which development accounts it removed', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  const first = await startServer(t, { dataDir })
  await first.stop()
  const production = await startServer(t, { dataDir, development: false })
  const { time: _time, ...line } =
    production.log().find(({ event }) => event === 'development_accounts_removed') ?? {}
  t.strictSame(line, {
    level: 'warn',
    service: 'authorization-server',
    event: 'development_accounts_removed',
    usernames: ['alice', 'bob'],
    msg: 'development accounts removed, with their sessions, grants and tokens',
  })
  t.notMatch(production.output(), 'development_mode')
  await production.stop()
  const again = await startServer(t, { dataDir, development: false })
  t.notMatch(again.output(), 'development_accounts_removed', 'nothing is left to remove')
})

t.test('an unfinished authorization request expires after half an hour', async (t) => {
  const own = await startServer(t)
  const registered = await registerClient(own)
  const nowMs = Date.now()
  t.intercept(Date, 'now', { value: () => nowMs })
  await send(registered.authorizeUrl('openid', makePkce().challenge))
  const database = new DatabaseSync(join(own.dataDir, SQLITE_FILE_NAME), { readOnly: true })
  const row = database.prepare("select expires_at from artifacts where model = 'Interaction'").get()
  database.close()
  t.equal(row?.['expires_at'], Math.floor(nowMs / 1_000) + 1_800)
})

t.test('replicas and versions with one cookie key send the same nonce for DPoP proofs', async (t) => {
  const nowMs = 1_800_000_000_000
  t.intercept(Date, 'now', { value: () => nowMs })
  const dir = t.testdir({ keys: `${'k'.repeat(32)}\n${'o'.repeat(32)}\n` })
  const own = await startServer(t, { cookieKeysFile: join(dir, 'keys') })
  const registered = await registerClient(own)
  const url = own.baseUrl + ENDPOINTS.token
  const claims = { iat: 1, nonce: 'other' }
  const dpop = aProof({ key: aProofKey(), url, method: 'POST', token: '', claims })
  const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: registered.clientId }
  const answer = await send(url, { form, headers: { dpop } })
  t.match(answer, { status: 400, json: { error: 'use_dpop_nonce' } })
  t.equal(answer.headers.get('dpop-nonce'), '2BMUZp1BiyTdWbclbvl1Hdonqjdp2IvR0XK3iruEi-8')
})

t.test('the server sweeps its store once a minute until it stops', async (t) => {
  const timers: { call: () => void; ms: number | undefined; timer: NodeJS.Timeout }[] = []
  const start = globalThis.setInterval
  t.intercept(globalThis, 'setInterval', {
    value: (call: () => void, ms?: number) => {
      const timer = start(call, ms)
      timers.push({ call, ms, timer })
      return timer
    },
  })
  const cleared: unknown[] = []
  const stop = globalThis.clearInterval
  t.intercept(globalThis, 'clearInterval', {
    value: (timer: NodeJS.Timeout) => {
      cleared.push(timer)
      stop(timer)
    },
  })
  const own = await startServer(t)
  const database = new DatabaseSync(join(own.dataDir, SQLITE_FILE_NAME))
  database.exec("insert into artifacts (model, id, payload, expires_at) values ('Old', 'old', '{}', 1)")
  const swept = timers.filter(({ ms }) => ms === 60_000)
  for (const { call } of swept) call()
  const fieldsOf = (event: string) =>
    until(event, async () => {
      const found = own.log().find((line) => line['event'] === event)
      const { time: _time, ...fields } = found ?? {}
      return found && fields
    })
  const service = 'authorization-server'
  t.strictSame(await fieldsOf('swept'), {
    level: 'debug',
    service,
    event: 'swept',
    removed: 1,
    msg: 'expired artifacts removed',
  })
  database.exec('alter table artifacts rename to away')
  for (const { call } of swept) call()
  const { err, ...failed } = await fieldsOf('sweep_failed')
  t.match(err, { message: 'The SQLite store failed.' })
  t.strictSame(failed, {
    level: 'error',
    service,
    event: 'sweep_failed',
    msg: 'cannot remove expired artifacts; the next sweep retries',
  })
  database.close()
  t.ok(
    swept.every(({ timer }) => !timer.hasRef()),
    'the timer does not keep the process alive',
  )
  await own.stop()
  t.ok(timers.filter(({ ms }) => ms === 60_000).some(({ timer }) => cleared.includes(timer)))
})

t.test('a failed start closes the store and the management port', async (t) => {
  const dataDir = t.testdir()
  const { port } = server
  const config = await aConfig(dataDir, { listen: { host: '127.0.0.1', port } })
  const logger = SILENT_LOGGER
  await t.rejects(startAuthorizationServer({ config, logger }), {
    code: 'ERR_PORT_TAKEN',
    message: `authorization-server: another program listens on 127.0.0.1:${port} already. End that program, or choose another port (PORT or listen.port in config/authorization-server.yaml).`,
  })
  const open = readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(dataDir)
    } catch {
      return false // the file was closed during the loop
    }
  })
  t.strictSame(open, [])
})
