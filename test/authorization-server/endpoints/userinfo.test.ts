import Fastify from 'fastify'
import t from 'tap'
import { mountUserinfo, type UserinfoOptions } from '../../../authorization-server/endpoints/userinfo.ts'
import type { TokenOwner } from '../../../authorization-server/engine/engine.ts'
import { headerSet } from '../../fixtures/header-set.ts'
import { sendExactly } from '../../fixtures/send-exactly.ts'

const METADATA = 'resource_metadata="https://login.example/.well-known/oauth-protected-resource"'
const ALGORITHMS = 'algs="ES256 ES384 PS256 RS256 EdDSA Ed25519"'
const ACCOUNT = { id: 'id-carol', username: 'carol', name: 'Carol', email: 'carol@example.com' }

const counted: string[] = []
const seen: unknown[] = []
const state = {
  owner: undefined as TokenOwner | undefined,
  account: undefined as Awaited<ReturnType<UserinfoOptions['findAccount']>>,
  proofStatus: 'valid' as Awaited<ReturnType<UserinfoOptions['verifyProof']>>,
}
const app = Fastify()
mountUserinfo(app, {
  issuer: 'https://login.example',
  findTokenOwner: async (token) => {
    seen.push(['token', token])
    return state.owner
  },
  verifyProof: async (proof, request) => {
    seen.push(['proof', proof, request])
    return state.proofStatus
  },
  findAccount: async (id) => {
    seen.push(['account', id])
    return state.account
  },
  count: (result) => counted.push(result),
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
t.teardown(() => app.close())

const owner = (scope: string, keyThumbprint?: string): TokenOwner => ({
  accountId: 'id-carol',
  clientId: 'client-1',
  scopes: scope.split(' '),
  keyThumbprint,
})
/** Sends a request. Returns the response, the counted results and the calls to the engine. */
const ask = async (
  headers: readonly string[],
  change: Partial<typeof state> = {},
  options: { readonly method?: string; readonly body?: string } = {},
) => {
  Object.assign(state, { owner: undefined, account: ACCOUNT, proofStatus: 'valid' }, change)
  const {
    status,
    json,
    headers: received,
  } = await sendExactly(url, '/api/oauth/userinfo', {
    ...options,
    headers,
  })
  return { status, json, headers: headerSet(received), counted: counted.splice(0), seen: seen.splice(0) }
}
const rejection = (status: number, error: string, description: string, challenge?: string) => ({
  status,
  json: { error, error_description: description },
  headers: {
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
  },
  counted: [error],
})
/** Returns a rejection with a challenge that repeats the error and the description. */
const challenged = (
  status: number,
  error: string,
  description: string,
  { scheme = 'Bearer', rest = METADATA }: { readonly scheme?: string; readonly rest?: string } = {},
) =>
  rejection(
    status,
    error,
    description,
    `${scheme} error="${error}", error_description="${description}", ${rest}`,
  )

const INVALID = 'The access token is malformed, expired, revoked or not for this API. Refresh the token.'
const DPOP = { scheme: 'DPoP', rest: `${METADATA}, ${ALGORITHMS}` }

t.test('a request without a usable token is rejected', async (t) => {
  const none = rejection(
    401,
    'unauthorized',
    'Send an access token: Authorization: Bearer <ACCESS_TOKEN>.',
    `Bearer ${METADATA}`,
  )
  t.strictSame(await ask([]), { ...none, seen: [] })
  t.strictSame(await ask(['authorization', 'Bearer a', 'authorization', 'Bearer a']), {
    ...rejection(400, 'invalid_request', 'Send one Authorization header.'),
    seen: [],
  })
  const malformed = challenged(401, 'invalid_token', INVALID)
  for (const value of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer a=b',
    'Bearer é',
    'Bearer\ta',
    'x Bearer a',
    'Basic abc',
    'Bearer a,',
  ])
    t.strictSame(
      await ask(['authorization', value], { owner: owner('openid') }),
      { ...malformed, seen: [] },
      value,
    )
  t.strictSame(await ask(['authorization', 'Bearer a']), { ...malformed, seen: [['token', 'a']] })
  t.strictSame(await ask(['authorization', 'DPoP a']), {
    ...challenged(401, 'invalid_token', INVALID, DPOP),
    seen: [['token', 'a']],
  })
})

t.test('the scheme in any case and every character of a token are accepted', async (t) => {
  for (const [value, token] of [
    ['Bearer azAZ09-._~+/==', 'azAZ09-._~+/=='],
    ['bearer a', 'a'],
    ['BEARER   a', 'a'],
  ] as const)
    t.strictSame(await ask(['authorization', value], { owner: owner('openid') }), {
      status: 200,
      json: { sub: 'id-carol' },
      headers: { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' },
      counted: ['ok'],
      seen: [
        ['token', token],
        ['account', 'id-carol'],
      ],
    })
})

t.test('the scopes select the claims', async (t) => {
  const claims = async (scope: string, account: typeof state.account = ACCOUNT) =>
    (await ask(['authorization', 'Bearer a'], { owner: owner(scope), account })).json
  const profile = { name: 'Carol', preferred_username: 'carol' }
  t.strictSame(await claims('openid profile'), { sub: 'id-carol', ...profile })
  t.strictSame(await claims('openid email'), { sub: 'id-carol', email: 'carol@example.com' })
  t.strictSame(await claims('email profile openid'), {
    sub: 'id-carol',
    ...profile,
    email: 'carol@example.com',
  })
  t.strictSame(await claims('openid email', { ...ACCOUNT, email: undefined }), { sub: 'id-carol' })
})

t.test(
  '§5.1: an account of a provider has the name from the provider, and its verified address',
  async (t) => {
    const ofProvider = { ...ACCOUNT, username: 'company:x0Ae', provider: 'company' }
    const claims = async (scope: string, verified: { readonly emailVerified?: true }) =>
      (
        await ask(['authorization', 'Bearer a'], {
          owner: owner(scope),
          account: { ...ofProvider, ...verified },
        })
      ).json
    t.strictSame(await claims('openid profile email', { emailVerified: true }), {
      sub: 'id-carol',
      name: 'Carol',
      email: 'carol@example.com',
      email_verified: true,
    })
    t.strictSame(await claims('openid email', {}), { sub: 'id-carol', email: 'carol@example.com' })
  },
)

t.test('a token without openid, or of a removed account, is denied', async (t) => {
  const { seen: _seen, ...denied } = await ask(['authorization', 'Bearer a'], {
    owner: owner('profile email'),
  })
  const rest = `scope="openid", ${METADATA}`
  const lacks = 'The access token lacks the scope openid.'
  t.strictSame(denied, challenged(403, 'insufficient_scope', lacks, { rest }))
  const { seen: _calls, ...removed } = await ask(['authorization', 'Bearer a'], {
    owner: owner('openid'),
    account: undefined,
  })
  t.strictSame(removed, challenged(401, 'invalid_token', INVALID))
})

t.test('a bound token requires the DPoP scheme and a proof that is signed with its key', async (t) => {
  const bound = { owner: owner('openid', 'key-1') }
  const dpop = ['authorization', 'DPoP a', 'dpop', 'proof-1']
  const request = { path: '/api/oauth/userinfo', accessToken: 'a', keyThumbprint: 'key-1' }
  const checked = (proof: string, method = 'GET') => [
    ['token', 'a'],
    ['proof', proof, { method, ...request }],
  ]
  for (const scheme of ['DPoP', 'dpop'])
    t.strictSame((await ask(['authorization', `${scheme} a`, 'dpop', 'proof-1'], bound)).seen, [
      ...checked('proof-1'),
      ['account', 'id-carol'],
    ])
  const posted = await ask(dpop, bound, { method: 'POST' })
  t.equal(posted.status, 200)
  t.strictSame(posted.seen.slice(0, 2), checked('proof-1', 'POST'))

  const asBearer = 'The access token is bound to a key. Send the token with the scheme DPoP and a proof.'
  t.strictSame(await ask(['authorization', 'Bearer a'], bound), {
    ...challenged(401, 'invalid_token', asBearer, { rest: `${METADATA}, DPoP ${ALGORITHMS}` }),
    seen: [['token', 'a']],
  })
  const unbound = 'The access token is not bound to a key. Send the token with the scheme Bearer.'
  t.strictSame(await ask(dpop, { owner: owner('openid') }), {
    ...challenged(401, 'invalid_token', unbound, DPOP),
    seen: [['token', 'a']],
  })
  const otherKey = 'The access token and the DPoP proof are bound to different keys.'
  t.strictSame(await ask(dpop, { ...bound, proofStatus: 'wrong_key' }), {
    ...challenged(401, 'invalid_token', otherKey, DPOP),
    seen: checked('proof-1'),
  })
  const bad = challenged(
    401,
    'invalid_dpop_proof',
    'The DPoP proof is missing, invalid for this request or token, or already used.',
    DPOP,
  )
  t.strictSame(await ask(dpop, { ...bound, proofStatus: 'invalid' }), { ...bad, seen: checked('proof-1') })
  t.strictSame(await ask(['authorization', 'DPoP a'], { ...bound, proofStatus: 'invalid' }), {
    ...bad,
    seen: checked(''),
  })
  t.strictSame(await ask([...dpop, 'dpop', 'proof-2'], bound), { ...bad, seen: [['token', 'a']] })
})

t.test('a POST ignores its body up to 16 KiB', async (t) => {
  const post = async (length: number) => {
    const headers = ['authorization', 'Bearer a', 'content-type', 'application/json']
    return (await ask(headers, { owner: owner('openid') }, { method: 'POST', body: 'x'.repeat(length) }))
      .status
  }
  t.equal(await post(16_384), 200)
  t.equal(await post(16_385), 413)
})
