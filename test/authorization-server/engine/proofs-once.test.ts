import t, { type Test } from 'tap'
import type { AuthorizationServerConfig } from '../../../authorization-server/config.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { type Client, type Grant, registerClient } from '../../fixtures/register-client.ts'
import { type Answer, send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'
import { startRedis } from '../../fixtures/start-redis.ts'

// RFC 9449 section 11.1: a server accepts a proof only once, also in concurrent requests.
const AT_ONCE = 50
const key = aProofKey()

// Five codes are enough: SQLite calls are synchronous in one process.
t.test('§11.1 of RFC 9449: a server with SQLite accepts one of several equal concurrent proofs', (t) =>
  onlyOneGetsThrough(t, 5, {}),
)

t.test('§11.1 of RFC 9449: a server with Redis accepts one of several equal concurrent proofs', async (t) => {
  const redis = await startRedis({ folder: t.testdir() })
  t.teardown(() => redis.stop())
  await onlyOneGetsThrough(t, AT_ONCE, { store: { type: 'redis' }, redis: { url: redis.url } })
})

async function onlyOneGetsThrough(
  t: Test,
  codeCount: number,
  config: Partial<AuthorizationServerConfig>,
): Promise<void> {
  const server = await startServer(t, config)
  const client = await registerClient(server)
  const browser = openBrowser(server.baseUrl)
  const tokenUrl = server.baseUrl + ENDPOINTS.token
  const userinfoUrl = server.baseUrl + ENDPOINTS.userinfo
  const codes: Grant[] = []
  for (let i = 0; i < codeCount; i++)
    codes.push(await client.obtainCode({ browser, scope: 'openid courses:read' }))
  const proof = aProof({ key, url: tokenUrl, method: 'POST', token: '' })

  const answers = await Promise.all(codes.map((grant) => exchange(client, tokenUrl, grant, proof)))
  const good = answers.filter(({ status }) => status === 200)
  t.equal(good.length, 1, 'one code was exchanged with the proof')
  for (const answer of answers.filter(({ status }) => status !== 200))
    t.match(answer, { status: 400, json: { error: 'invalid_grant' } })

  const [{ accessToken } = { accessToken: '' }] = good.map(client.readTokens)
  const userinfoProof = aProof({ key, url: userinfoUrl, token: accessToken })
  const headers = { authorization: `DPoP ${accessToken}`, dpop: userinfoProof }
  const infos = await Promise.all(Array.from({ length: AT_ONCE }, () => send(userinfoUrl, { headers })))
  t.equal(infos.filter(({ status }) => status === 200).length, 1, 'one of 50 userinfo requests succeeded')
  for (const answer of infos.filter(({ status }) => status !== 200))
    t.match(answer, { status: 401, json: { error: 'invalid_dpop_proof' } })
}

t.test('a used proof with a future time stays used as long as the proof is valid', async (t) => {
  const server = await startServer(t)
  const client = await registerClient(server)
  const url = server.baseUrl + ENDPOINTS.token
  const obtain = () =>
    client.obtainCode({ browser: openBrowser(server.baseUrl), scope: 'openid courses:read' })
  const wallClock = Date.now
  const iat = Math.floor(wallClock() / 1_000) + 290
  const proof = aProof({ key, url, method: 'POST', token: '', claims: { iat } })
  const first = await exchange(client, url, await obtain(), proof)
  t.equal(first.status, 200)
  client.readTokens(first)
  t.intercept(Date, 'now', { value: () => wallClock() + 310_000 })
  t.match(await exchange(client, url, await obtain(), proof), {
    status: 400,
    json: { error: 'invalid_grant' },
  })
})

function exchange(client: Client, url: string, { code, verifier }: Grant, proof: string): Promise<Answer> {
  const form = {
    grant_type: 'authorization_code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code,
    code_verifier: verifier,
  }
  return send(url, { form, headers: { dpop: proof } })
}
