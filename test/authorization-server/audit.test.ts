import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { beforeAuthorizationServer } from '../fixtures/before-authorization-server.ts'
import { openBrowser, type Page } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { type Client, makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { answerPage, signIn } from '../fixtures/sign-in.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'

type Line = Readonly<Record<string, unknown>>

const server = await startServer(t)
const client = await registerClient(server, { client_name: 'Audited' })
const SCOPE = 'openid courses:read'

const audits = (on: AuthorizationServer = server): readonly Line[] =>
  on.log().filter(({ event }) => event === 'audit')
const auditsOf = async (work: () => Promise<unknown>): Promise<readonly Line[]> => {
  const before = audits().length
  await work()
  return audits().slice(before)
}
/**
 * Returns the expected fields of an audit line for a request from this machine, without the time and the request ID.
 */
const line = (action: string, fields: Line): Line => ({
  level: 'info',
  service: 'authorization-server',
  event: 'audit',
  action,
  msg: action.replaceAll('_', ' '),
  'client.address': '127.0.0.1',
  ...fields,
})
/** Checks the time and the request ID of an audit line. Returns the other fields. */
const stable = ({ time, request_id: requestId, ...fields }: Line): Line => {
  seen.add(fields['action'])
  t.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.match(requestId, /^[0-9a-f-]{36}$/, 'every request has an id')
  return fields
}
const idOf = (username: string): unknown =>
  audits().find((found) => found['action'] === 'account_added' && found['username'] === username)?.['subject']
const alice = idOf('alice')
const bob = idOf('bob')
/** The actions for which a test has checked the audit fields. */
const seen = new Set<unknown>([
  'account_added',
  'account_removed',
  // test/gateway/reload.test.ts
  'policies_changed',
  // log-level.test.ts
  'log_level_changed',
  // administration/administration.test.ts
  'account_disabled',
  'account_enabled',
  'password_reset',
  'grant_revoked',
  'client_removed',
  'session_ended',
  'access_removed', // account-pages/account-pages.test.ts
  // password-links.test.ts
  'password_link_created',
  'password_set',
  // second-factor.test.ts
  'second_factor_set',
  'second_factor_removed',
  'second_factor_reset',
  'recovery_codes_created',
])
const GRANT = /^[\w-]{43}$/

t.test('writes an audit line for each added development account', async (t) => {
  const added = audits().filter(({ action }) => action === 'account_added')
  t.equal(added.length, 2)
  for (const [index, username] of ['alice', 'bob'].entries()) {
    const { time, subject, ...fields } = added[index] ?? {}
    t.match({ time, subject }, { time: /T/, subject: /^[0-9a-f]{32}$/ })
    const { 'client.address': _address, ...expected } = line('account_added', {
      username,
      account_origin: 'development',
    })
    t.strictSame(fields, expected)
  }
})

t.test('writes an audit line for each removed development account', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-'))
  t.teardown(() => rmSync(dataDir, { recursive: true }))
  const first = await startServer(t, { dataDir })
  await first.stop()
  const production = await startServer(t, { dataDir, development: false })
  const removed = audits(production).filter(({ action }) => action === 'account_removed')
  t.strictSame(
    removed.map(({ time: _time, subject, ...fields }) => [typeof subject, fields]),
    ['alice', 'bob'].map((username) => {
      const fields = { username, account_origin: 'development' }
      const { 'client.address': _address, ...expected } = line('account_removed', fields)
      return ['string', expected]
    }),
  )
})

t.test('registration, sign-in, consent and tokens: the exact fields of each audit line', async (t) => {
  const [registered] = await auditsOf(() => registerClient(server))
  t.match(registered?.['client_id'], /^[\w-]{20,}$/)
  t.strictSame(
    stable(registered ?? {}),
    line('client_registered', {
      client_id: registered?.['client_id'],
      redirect_uris: ['http://127.0.0.1:49152/callback'],
    }),
  )

  const browser = openBrowser(server.baseUrl)
  const lines = await auditsOf(() => client.obtainTokens({ browser, scope: SCOPE }))
  const [grant] = lines.slice(-1).map((last) => last['grant'])
  t.match(grant, GRANT)
  const who = { client_id: client.clientId, subject: alice }
  t.strictSame(lines.map(stable), [
    line('signed_in', who),
    line('consent_given', { ...who, scopes: SCOPE.split(' ') }),
    line('token_issued', { ...who, scope: SCOPE, grant }),
  ])
  t.equal(new Set(lines.map(({ request_id: id }) => id)).size, 3, 'each request has its own ID')

  const denied = await auditsOf(() =>
    signIn(browser, client.authorizeUrl(SCOPE, makePkce().challenge), { decision: 'cancel' }),
  )
  t.strictSame(denied.map(stable), [line('consent_denied', who)])

  const unknown = await auditsOf(() => cancelAtSignIn(client))
  t.strictSame(unknown.map(stable), [line('consent_denied', { client_id: client.clientId })])
})

t.test('failed sign-ins: the exact fields of each audit line', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const page = await visitSignIn(client, browser)
  const attempt = (username: string, password: string) =>
    auditsOf(() => answerPage(browser, page, { username, password }))
  const failed = { client_id: client.clientId, reason: 'wrong_credentials' }
  t.strictSame((await attempt('alice', 'wrong')).map(stable), [
    line('sign_in_failed', { ...failed, subject: alice }),
  ])
  t.strictSame((await attempt('my-secret-password', 'alice')).map(stable), [line('sign_in_failed', failed)])
  for (let i = 0; i < 9; i++) await attempt('alice', 'wrong')
  const throttled = await auditsOf(async () => {
    for (let i = 0; i < 20; i++) await answerPage(browser, page, { username: 'alice', password: 'alice' })
  })
  t.strictSame(throttled.map(stable), [line('sign_in_throttled', {})], 'one line for all throttled attempts')
  const metrics = await send(`${server.managementUrl}/metrics`)
  t.match(metrics.text, /^scopegate_oauth_sign_ins_throttled_total 20$/m)
})

t.test('a sign-in with another account in the same browser signs out the first account', async (t) => {
  const fresh = await startServer(t)
  const own = await registerClient(fresh)
  const browser = openBrowser(fresh.baseUrl)
  await own.obtainTokens({ browser, scope: SCOPE })
  const consent = await browser.visit(own.authorizeUrl(SCOPE, makePkce().challenge))
  if (consent.left) throw new Error('no consent page')
  const page = await browser.visit(`${consent.url}?account=other`)
  if (page.left) throw new Error('no sign-in page')
  const before = audits(fresh).length
  await answerPage(browser, page, { username: 'bob' })
  const subjects = Object.fromEntries(
    audits(fresh)
      .filter(({ action }) => action === 'account_added')
      .map(({ username, subject }) => [String(username), subject]),
  )
  const lines = audits(fresh).slice(before)
  t.strictSame(lines.map(stable), [
    line('signed_out', { client_id: own.clientId, subject: subjects['alice'] }),
    line('signed_in', { client_id: own.clientId, subject: subjects['bob'] }),
  ])
  t.equal(lines[0]?.['request_id'], lines[1]?.['request_id'])
  const { text } = await send(`${fresh.managementUrl}/metrics`)
  for (const [name, value] of [
    ['sign_ins_total{provider="local",result="ok"}', 2],
    ['sessions_ended_total', 1],
    ['grants_created_total{consent="page"}', 1],
    ['request_duration_seconds_count{endpoint="/oauth/interaction/:uid/sign-in",code_class="3xx"}', 2],
    ['request_duration_seconds_count{endpoint="token",code_class="2xx"}', 1],
    ['store_operation_duration_seconds_count{operation="artifacts_consume",result="ok"}', 1],
  ] as const)
    t.ok(text.includes(`\nscopegate_oauth_${name} ${value}\n`), `${name} ${value}`)
})

t.test('refresh, revocation and reuse: the exact fields of each audit line', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const person = { username: 'bob' }
  const who = { client_id: client.clientId, subject: bob }
  const first = await client.obtainTokens({ browser, scope: SCOPE, person })
  let refreshed = first
  const [renewed] = await auditsOf(async () => {
    refreshed = client.readTokens(await client.refresh(first.refreshToken))
  })
  const grant = renewed?.['grant']
  t.match(grant, GRANT)
  t.strictSame(stable(renewed ?? {}), line('token_refreshed', { ...who, scope: SCOPE, grant }))
  const repeated = await auditsOf(() => client.refresh(first.refreshToken))
  t.strictSame(repeated.map(stable), [line('refresh_repeated', { ...who, grant })])
  const revoked = await auditsOf(() => client.revoke(refreshed.refreshToken))
  t.strictSame(revoked.map(stable), [line('token_revoked', { ...who, grant })])

  const code = await client.obtainCode({ browser, scope: SCOPE, person })
  const [issued] = await auditsOf(async () => client.readTokens(await client.exchange(code)))
  const reused = await auditsOf(() => client.exchange(code))
  t.strictSame(reused.map(stable), [line('code_reused', { ...who, grant: issued?.['grant'] })])

  const raced = await client.obtainCode({ browser, scope: SCOPE, person })
  const race = await auditsOf(() => Promise.all(Array.from({ length: 20 }, () => client.exchange(raced))))
  t.ok(
    race.some(({ action }) => action === 'code_reused'),
    'also for two concurrent uses',
  )
})

t.test('a reused refresh token has an audit line with every field', async (t) => {
  const strict = await startServer(t, { refreshTokens: { repeatWindowSeconds: 0 } })
  const own = await registerClient(strict)
  const { refreshToken } = await own.obtainTokens({ browser: openBrowser(strict.baseUrl), scope: SCOPE })
  own.readTokens(await own.refresh(refreshToken))
  const before = audits(strict).length
  await own.refresh(refreshToken)
  const last = audits(strict).find(({ action }) => action === 'token_refreshed')
  t.strictSame(audits(strict).slice(before).map(stable), [
    line('refresh_token_reused', {
      client_id: own.clientId,
      subject: last?.['subject'],
      grant: last?.['grant'],
    }),
  ])
  t.ok(last?.['subject'])
  const metrics = await send(`${strict.managementUrl}/metrics`)
  t.match(metrics.text, /^scopegate_oauth_grants_ended_total\{reason="refresh_token_reused"\} 1$/m)
})

t.test('audit lines contain the request ID and the client address from the gateway', async (t) => {
  for (const trusted of [true, false]) {
    const [port, serverPort] = [await quietPort(), await quietPort()]
    const base = `http://127.0.0.1:${port}`
    const behind = await startServer(t, { issuer: base, listen: { host: '127.0.0.1', port: serverPort } })
    const serverUrl = `http://127.0.0.1:${serverPort}`
    const { gatewaySecret } = behind
    await startGatewayUnderTest(t, {
      change: (config) => ({
        ...beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret }),
        trustedProxies: trusted ? ['127.0.0.1'] : [],
      }),
    })
    const answer = await send(`${base}${ENDPOINTS.registration}`, {
      headers: { 'x-forwarded-for': '203.0.113.9', 'x-request-id': 'from-the-proxy' },
      json: { redirect_uris: ['http://127.0.0.1:49152/callback'] },
    })
    t.equal(answer.status, 201)
    const [registered] = audits(behind).filter(({ action }) => action === 'client_registered')
    t.equal(registered?.['client.address'], trusted ? '203.0.113.9' : '127.0.0.1')
    t.equal(registered?.['request_id'], answer.headers.get('x-request-id'))
    t.equal(registered?.['request_id'] === 'from-the-proxy', trusted)
  }
})

t.test('the log line of a rejected request has the same request ID and address', async (t) => {
  const answer = await client.refresh('x'.repeat(43))
  t.equal(answer.status, 400)
  const rejected = server.log().findLast(({ event }) => event === 'refused')
  t.match(rejected, { endpoint: 'token', error: 'invalid_grant', 'client.address': '127.0.0.1' })
  t.equal(rejected?.['request_id'], answer.headers.get('x-request-id'))
})

t.test('the log names the endpoint and the error of each rejected request', async (t) => {
  const client_id = 'unknown'
  const { challenge } = makePkce()
  const pushed = {
    client_id,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  for (const [endpoint, path, form] of [
    ['token', ENDPOINTS.token, { client_id, grant_type: 'refresh_token', refresh_token: 'x' }],
    ['revocation', ENDPOINTS.revocation, { client_id, token: 'x' }],
    ['introspection', ENDPOINTS.introspection, { client_id, client_secret: 'wrong', token: 'x' }],
    ['pushed_authorization_request', ENDPOINTS.pushedAuthorizationRequest, pushed],
  ] as const) {
    const answer = await send(`${server.baseUrl}${path}`, { form })
    t.match(answer, { status: 401, json: { error: 'invalid_client' } }, endpoint)
    const requestId = answer.headers.get('x-request-id')
    const rejected = server.log().find((one) => one['event'] === 'refused' && one['request_id'] === requestId)
    t.match(rejected, { endpoint, error: 'invalid_client', 'client.address': '127.0.0.1' }, endpoint)
  }
})

t.test('the log contains no password, typed name, code, verifier or token', async (t) => {
  const log = server.output()
  for (const typed of ['my-secret-password', '"wrong"']) t.notOk(log.includes(typed), typed)
  const secret = 'a password that must stay secret'
  const browser = openBrowser(server.baseUrl)
  const page = await visitSignIn(client, browser)
  await answerPage(browser, page, { username: secret, password: secret })
  await answerPage(browser, page, { username: 'bob', password: secret })
  const grant = await client.obtainCode({ browser, scope: SCOPE, person: { username: 'bob' } })
  const tokens = client.readTokens(await client.exchange(grant))
  await client.refresh(`${tokens.refreshToken}x`)
  await client.exchange({ ...grant, verifier: grant.verifier.slice(1) })
  const { accessToken, refreshToken, idToken } = tokens
  for (const value of [secret, grant.code, grant.verifier, accessToken, refreshToken, idToken])
    t.notOk(server.output().includes(String(value)))
})

/** test/authorization-server/console/console.test.ts causes these actions. */
const CONSOLE_ACTIONS = new Set([
  'console_signed_in',
  'console_signed_out',
  'console_sign_in_failed',
  'console_sign_in_throttled',
])

t.test('docs/logs.md lists exactly the audit actions', async (t) => {
  const page = readFileSync(join(findPackageRoot(), 'docs', 'logs.md'), 'utf8')
  const [, section = ''] = page.split('## Audit lines')
  const listed = [...(section.split('\n## ')[0]?.matchAll(/^\| `(\w+)` \|/gm) ?? [])].map(
    ([, action]) => action,
  )
  t.same(new Set(listed), seen.union(CONSOLE_ACTIONS))
})

async function visitSignIn(by: Client, browser: ReturnType<typeof openBrowser>): Promise<Page> {
  const page = await browser.visit(by.authorizeUrl(SCOPE, makePkce().challenge, { prompt: 'login' }))
  if (page.left) throw new Error('no sign-in page')
  return page
}

async function cancelAtSignIn(by: Client): Promise<void> {
  const browser = openBrowser(server.baseUrl)
  const page = await visitSignIn(by, browser)
  const form = page.forms.find(({ action }) => action.endsWith('/cancel'))
  if (form === undefined) throw new Error('no cancel button')
  await browser.submit(form)
}
