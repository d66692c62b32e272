import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { aProof, aProofKey, type ProofKey } from '../fixtures/dpop-proof.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { type Client, registerClient, type Tokens } from '../fixtures/register-client.ts'
import { type Answer, send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)
const scope = 'openid courses:read courses:write'
const obtain = (on: Client = client): Promise<Tokens> => on.obtainTokens({ browser, scope })
const isActive = async (token: string): Promise<boolean> =>
  (await introspect(server, token))['active'] === true
const audits = (action: string) => server.log().filter((line) => line['action'] === action)
const metric = async (name: string): Promise<number> => {
  const { text } = await send(`${server.managementUrl}/metrics`)
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}
const REJECTED = { status: 400, json: { error: 'invalid_grant' } }

function passTime(t: Test, seconds: number): void {
  const nowMs = Date.now() + seconds * 1_000
  t.intercept(Date, 'now', { value: () => nowMs })
}

function stored(model: string): readonly Record<string, unknown>[] {
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME), { readOnly: true })
  try {
    return database.prepare('select * from artifacts where model = ?').all(model)
  } finally {
    database.close()
  }
}

t.test('a repeated refresh gets the same response, and creates no second successor', async (t) => {
  const first = await obtain()
  const [repeats, audited] = [
    await metric('scopegate_oauth_refresh_repeats_total'),
    audits('refresh_repeated').length,
  ]
  const answer = await client.refresh(first.refreshToken)
  t.equal(answer.status, 200)
  const successor = client.readTokens(answer)
  t.not(successor.refreshToken, first.refreshToken)
  for (let repeat = 0; repeat < 3; repeat++) {
    const again = await client.refresh(first.refreshToken)
    t.equal(again.status, 200)
    t.equal(again.text, answer.text)
    t.equal(again.headers.get('content-type'), answer.headers.get('content-type'))
    t.equal(again.headers.get('cache-control'), 'no-store')
  }
  t.ok(await isActive(successor.accessToken))
  t.equal(await metric('scopegate_oauth_refresh_repeats_total'), repeats + 3)
  t.equal(audits('refresh_repeated').length, audited + 3)
  t.match(audits('refresh_repeated').at(-1), { client_id: client.clientId, subject: /./, grant: /./ })
  const next = await client.refresh(successor.refreshToken)
  t.equal(next.status, 200, 'the grant stays valid')
  client.readTokens(next)
})

t.test('200 parallel uses of a refresh token get one response', async (t) => {
  const { refreshToken } = await obtain()
  const before = [stored('RefreshToken').length, stored('AccessToken').length]
  const answers = await Promise.all(Array.from({ length: 200 }, () => client.refresh(refreshToken)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  t.same(
    [stored('RefreshToken').length, stored('AccessToken').length],
    before.map((count) => count + 1),
    'one successor and one access token are stored',
  )
  const successor = client.readTokens(answers[0] as Answer)
  t.ok(await isActive(successor.accessToken))
  const next = await client.refresh(successor.refreshToken)
  t.equal(next.status, 200)
  client.readTokens(next)
})

t.test('a repetition within the repeat window succeeds 28 s later', async (t) => {
  const first = await obtain()
  const answer = await client.refresh(first.refreshToken)
  client.readTokens(answer)
  passTime(t, 28)
  t.equal((await client.refresh(first.refreshToken)).text, answer.text)
})

t.test(
  '§4.14.2 of RFC 9700: a second use of a refresh token after the repeat window ends the grant',
  async (t) => {
    const before = audits('refresh_token_reused').length
    const reuses = await metric('scopegate_oauth_refresh_reuse_total')
    const first = await obtain()
    const successor = client.readTokens(await client.refresh(first.refreshToken))
    passTime(t, 31)
    t.match(await client.refresh(first.refreshToken), REJECTED)
    t.match(await client.refresh(successor.refreshToken), REJECTED)
    t.notOk(await isActive(successor.accessToken))
    t.equal(audits('refresh_token_reused').length, before + 1)
    t.equal(await metric('scopegate_oauth_refresh_reuse_total'), reuses + 1)
  },
)

t.test('a repetition by another client within the repeat window ends the grant', async (t) => {
  const other = await registerClient(server)
  const before = audits('refresh_token_reused').length
  const first = await obtain()
  t.match(await other.refresh(first.refreshToken), REJECTED)
  const answer = await client.refresh(first.refreshToken)
  const successor = client.readTokens(answer)
  t.equal(answer.status, 200, 'the use by another client is not the first use')
  t.match(await other.refresh(first.refreshToken), REJECTED)
  t.notOk(await isActive(successor.accessToken))
  t.match(await client.refresh(successor.refreshToken), REJECTED)
  t.equal(audits('refresh_token_reused').length, before + 1)
  t.match(audits('refresh_token_reused').at(-1), { client_id: other.clientId, subject: /./, grant: /./ })
})

t.test('a repetition with another scope or resource is rejected, and the grant stays', async (t) => {
  const first = await obtain()
  const asked = { scope: 'courses:read openid' }
  const answer = await client.refresh(first.refreshToken, asked)
  const successor = client.readTokens(answer)
  for (const other of [{}, { scope: 'openid' }, { ...asked, resource: server.baseUrl }]) {
    const denied = await client.refresh(first.refreshToken, other)
    t.match(denied, REJECTED)
    t.match(denied.json['error_description'], /another scope or resource/)
  }
  const reordered = { scope: 'openid courses:read' }
  t.equal(
    (await client.refresh(first.refreshToken, reordered)).text,
    answer.text,
    'the order of scopes is not significant',
  )
  t.ok(await isActive(successor.accessToken))
  const next = await client.refresh(successor.refreshToken)
  t.equal(next.status, 200)
  client.readTokens(next)
})

t.test('a repetition after the successor was used is rejected, and the grant stays', async (t) => {
  const first = await obtain()
  const second = client.readTokens(await client.refresh(first.refreshToken))
  const third = client.readTokens(await client.refresh(second.refreshToken))
  const denied = await client.refresh(first.refreshToken)
  t.match(denied, REJECTED)
  t.match(denied.json['error_description'], /newest/)
  t.ok(await isActive(third.accessToken))
  const next = await client.refresh(third.refreshToken)
  t.equal(next.status, 200)
  client.readTokens(next)
})

t.test('revocation removes the stored response', async (t) => {
  for (const name of ['accessToken', 'refreshToken'] as const) {
    const first = await obtain()
    const before = stored('RefreshResponse').length
    const successor = client.readTokens(await client.refresh(first.refreshToken))
    t.equal(stored('RefreshResponse').length, before + 1)
    t.equal((await client.revoke(successor[name])).status, 200)
    t.equal(stored('RefreshResponse').length, before, `the ${name} was revoked`)
    t.match(await client.refresh(first.refreshToken), REJECTED)
    t.notOk(await isActive(successor.accessToken))
  }
})

t.test('the stored response contains no plaintext token and expires with the window', async (t) => {
  const first = await obtain()
  const successor = client.readTokens(await client.refresh(first.refreshToken))
  const rows = stored('RefreshResponse')
  t.ok(rows.length > 0)
  const text = JSON.stringify(rows)
  for (const secret of [first.refreshToken, ...Object.values(successor)])
    if (secret !== undefined && secret !== successor.scope) t.notMatch(text, secret)
  for (const { expires_at: expiresAt } of rows) {
    const seconds = Number(expiresAt) - Math.floor(Date.now() / 1_000)
    t.ok(seconds <= 30, `expires in ${seconds} s`)
  }
})

t.test('a confidential client must authenticate for a repetition as for the first use', async (t) => {
  const confidential = await registerClient(server, { token_endpoint_auth_method: 'client_secret_post' })
  const first = await obtain(confidential)
  const answer = await confidential.refresh(first.refreshToken)
  const successor = confidential.readTokens(answer)
  for (const wrong of [undefined, 'another secret'])
    t.match(await confidential.refresh(first.refreshToken, { client_secret: wrong }), {
      status: /40[01]/,
      json: { error: 'invalid_client' },
    })
  t.equal((await confidential.refresh(first.refreshToken)).text, answer.text)
  t.ok(await isActive(successor.accessToken))
})

t.test('a repetition with a sender-constrained token needs a new proof with the same key', async (t) => {
  const key = aProofKey()
  const url = server.baseUrl + ENDPOINTS.token
  const prove = (by: ProofKey = key): string => aProof({ key: by, url, method: 'POST', token: '' })
  for (const overrides of [{}, { token_endpoint_auth_method: 'client_secret_post' }]) {
    const bound = await registerClient(server, overrides)
    const credentials = { client_id: bound.clientId, client_secret: bound.clientSecret }
    const ask = (form: Readonly<Record<string, string>>, proof?: string): Promise<Answer> =>
      send(url, {
        form: { ...credentials, ...form },
        ...(proof === undefined ? {} : { headers: { dpop: proof } }),
      })
    const { code, verifier } = await bound.obtainCode({ browser, scope })
    const exchanged = await ask(
      {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: bound.redirectUri,
      },
      prove(),
    )
    const first = bound.readTokens(exchanged)
    const refresh = (proof?: string): Promise<Answer> =>
      ask({ grant_type: 'refresh_token', refresh_token: first.refreshToken }, proof)
    const proof = prove()
    const answer = await refresh(proof)
    t.match(answer, { status: 200, json: { token_type: 'DPoP' } })
    const successor = bound.readTokens(answer)
    t.match(await refresh(), REJECTED, 'no proof')
    t.match(await refresh(proof), REJECTED, 'the proof of the first use')
    t.match(await refresh(prove(aProofKey())), REJECTED, 'a proof by another key')
    t.match(await refresh('not a proof'), { status: 400, json: { error: 'invalid_dpop_proof' } })
    t.equal((await refresh(prove())).text, answer.text)
    t.ok(await isActive(successor.accessToken))
  }
})

t.test('without a repeat window every second use ends the grant', async (t) => {
  const strict = await startServer(t, { refreshTokens: { repeatWindowSeconds: 0 } })
  const own = await registerClient(strict)
  const asking = { browser: openBrowser(strict.baseUrl), scope }
  const first = await own.obtainTokens(asking)
  const successor = own.readTokens(await own.refresh(first.refreshToken))
  t.match(await own.refresh(first.refreshToken), REJECTED)
  t.match(await own.refresh(successor.refreshToken), REJECTED)

  const { refreshToken } = await own.obtainTokens(asking)
  const answers = await Promise.all(Array.from({ length: 20 }, () => own.refresh(refreshToken)))
  const won = answers.filter(({ status }) => status === 200)
  t.equal(won.length, 1)
  for (const answer of won) t.match(await own.refresh(own.readTokens(answer).refreshToken), REJECTED)
})
