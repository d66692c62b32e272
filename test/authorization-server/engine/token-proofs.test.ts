import t from 'tap'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { introspect } from '../../fixtures/introspect.ts'
import { macJws } from '../../fixtures/jws.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { type Grant, registerClient } from '../../fixtures/register-client.ts'
import { type Answer, send } from '../../fixtures/send.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const client = await registerClient(server)
const browser = openBrowser(server.baseUrl)
const url = server.baseUrl + ENDPOINTS.token
const key = aProofKey()
const now = Math.floor(Date.now() / 1_000)

const proven = (options: Partial<Parameters<typeof aProof>[0]> = {}) =>
  aProof({ key, url, method: 'POST', token: '', ...options })
const obtain = (overrides = {}): Promise<Grant> =>
  client.obtainCode({ browser, scope: 'openid courses:read', overrides })

function ask(form: Readonly<Record<string, string>>, proofs: readonly string[]): Promise<Answer> {
  const headers = new Headers(proofs.map((proof) => ['dpop', proof]))
  return send(url, { form: { client_id: client.clientId, ...form }, headers: Object.fromEntries(headers) })
}

const exchange = ({ code, verifier }: Grant, ...proofs: readonly string[]): Promise<Answer> =>
  ask(
    {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: client.redirectUri,
    },
    proofs,
  )
const refresh = (refreshToken: string, ...proofs: readonly string[]): Promise<Answer> =>
  ask({ grant_type: 'refresh_token', refresh_token: refreshToken }, proofs)

const BAD: Readonly<Record<string, readonly string[]>> = {
  'no proof but words': ['proof'],
  'two proofs': [proven(), proven()],
  'another method': [proven({ method: 'GET' })],
  'another endpoint': [proven({ url: server.baseUrl + ENDPOINTS.userinfo })],
  'another host': [proven({ url: `https://evil.test${ENDPOINTS.token}` })],
  'a slash more': [proven({ url: `${url}/` })],
  'no address': [proven({ claims: { htu: undefined } })],
  'no id': [proven({ claims: { jti: undefined } })],
  'no date': [proven({ claims: { iat: undefined } })],
  'typ JWT': [proven({ header: { typ: 'JWT' } })],
  'alg none': [proven({ header: { alg: 'none' } })],
  HS256: [macJws({ typ: 'dpop+jwt', alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, { jti: 'a' }, 'AAAA')],
  'no key': [proven({ header: { jwk: undefined } })],
  'a private key': [proven({ header: { jwk: key.privateKey.export({ format: 'jwk' }) } })],
  'the key of another client': [proven({ header: { jwk: aProofKey().jwk } })],
  'a nonce that is a number': [proven({ claims: { nonce: 1 } })],
}

t.test('§4.3 of RFC 9449: a rejected proof does not consume the code', async (t) => {
  const grant = await obtain()
  for (const [what, proofs] of Object.entries(BAD))
    t.match(await exchange(grant, ...proofs), { status: 400, json: { error: 'invalid_dpop_proof' } }, what)
  // A client with a wrong clock receives a nonce. RFC 9449 section 8.
  for (const [what, claims] of Object.entries({
    old: { iat: now - 4_000 },
    'of the future': { iat: now + 4_000 },
    'with an invented nonce': { nonce: 'made-up' },
  })) {
    const answer = await exchange(grant, proven({ claims }))
    t.match(answer, { status: 400, json: { error: 'use_dpop_nonce' } }, what)
    t.match(answer.headers.get('dpop-nonce'), /^[\w-]{43}$/, what)
  }
  const nonce = (await exchange(grant, proven({ claims: { iat: 1 } }))).headers.get('dpop-nonce')
  const answer = await exchange(grant, proven({ claims: { iat: 1, nonce } }))
  t.match(answer, { status: 200, json: { token_type: 'DPoP' } }, 'a valid nonce replaces the check of iat')
  const { accessToken } = client.readTokens(answer)
  t.match(await introspect(server, accessToken), { active: true, cnf: { jkt: key.thumbprint } })
})

t.test('§5 of RFC 9449: the refresh token of a public client is bound to the key of the proof', async (t) => {
  const tokens = client.readTokens(await exchange(await obtain(), proven()))
  const proof = proven()
  for (const [what, proofs] of Object.entries({
    'no proof': [],
    'another key': [proven({ key: aProofKey() })],
    'another endpoint': [proven({ url: server.baseUrl + ENDPOINTS.userinfo })],
  }))
    t.match(
      await refresh(tokens.refreshToken, ...proofs),
      { status: 400, json: { error: /^invalid_(grant|dpop_proof)$/ } },
      what,
    )
  const renewed = client.readTokens(await refresh(tokens.refreshToken, proof))
  t.match(await introspect(server, renewed.accessToken), { cnf: { jkt: key.thumbprint } })
  t.match(
    await refresh(renewed.refreshToken, proof),
    { status: 400, json: { error: 'invalid_grant' } },
    'a used proof',
  )
  t.equal(
    (await refresh(renewed.refreshToken, proven())).status,
    200,
    'the rejected requests did not consume the refresh token',
  )
})

t.test('§10 of RFC 9449: a code that is bound to a key is valid only with this key', async (t) => {
  const bound = { dpop_jkt: key.thumbprint }
  for (const [what, proofs] of Object.entries({
    'no proof': [],
    'another key': [proven({ key: aProofKey() })],
  }))
    t.match(
      await exchange(await obtain(bound), ...proofs),
      { status: 400, json: { error: 'invalid_grant' } },
      what,
    )
  const answer = await exchange(await obtain(bound), proven())
  t.match(answer, { status: 200, json: { token_type: 'DPoP' } })
  client.readTokens(answer)
})

t.test('§5.2 of RFC 9449: a client that registered for bound tokens gets only bound tokens', async (t) => {
  const strict = await registerClient(server, { dpop_bound_access_tokens: true })
  const grant = await strict.obtainCode({ browser, scope: 'openid courses:read' })
  t.match(await strict.exchange(grant), { status: 400, json: { error: 'invalid_grant' } })
})
