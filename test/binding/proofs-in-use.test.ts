import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { createNonces } from '../../gateway/tokens/binding/nonces.ts'
import { createUsedProofs } from '../../gateway/tokens/binding/used-proofs.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { parseObject } from '../fixtures/send.ts'
import { startRedis } from '../fixtures/start-redis.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const SECRET = 'a secret that every replica has, of 32 characters'
const key = aProofKey()
const token = 'bound-token'
const url = `${BASE_URL}/api/courses`

/** Starts a gateway and stores an opaque bound token. The introspection result contains `cnf`. RFC 9449 section 6.2. */
async function startBound(
  t: Test,
  options: Parameters<typeof startGatewayUnderTest>[1] = {},
): Promise<GatewayUnderTest> {
  const under = await startGatewayUnderTest(t, options)
  under.issuer.store(token, {
    sub: 'u1',
    scope: 'courses:read',
    token_type: 'DPoP',
    cnf: { jkt: key.thumbprint },
  })
  return under
}

function call({ gateway }: GatewayUnderTest, proof: string, path = '/api/courses'): Promise<Response> {
  return fetch(gateway.url + path, { headers: { authorization: `DPoP ${token}`, dpop: proof } })
}

async function fallbacks({ gateway }: GatewayUnderTest): Promise<number> {
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  return Number(/^scopegate_dpop_replay_fallback_total (\d+)/m.exec(metrics)?.[1])
}

const proofWith = (claims: Readonly<Record<string, unknown>> = {}) => aProof({ key, url, token, claims })

t.test('§11.1 of RFC 9449: two gateways with one Redis accept a proof only once', async (t) => {
  const redis = await startRedis({ folder: t.testdir({ redis: {} }) })
  t.teardown(redis.stop)
  const change: NonNullable<Parameters<typeof startGatewayUnderTest>[1]>['change'] = (config) => ({
    ...config,
    redis: { url: redis.url },
  })
  const one = await startBound(t, { change })
  const other = await startBound(t, { change })
  /** Repeats an attempt if Redis was too slow, because the gateways then checked the proofs only locally. */
  const undisturbed = async (attempt: () => Promise<readonly Response[]>): Promise<readonly Response[]> => {
    const before = (await fallbacks(one)) + (await fallbacks(other))
    const answers = await attempt()
    return (await fallbacks(one)) + (await fallbacks(other)) === before ? answers : undisturbed(attempt)
  }
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const) {
    const [used, replayed] = await undisturbed(async () => {
      const proof = proofWith()
      return [await call(first, proof), await call(second, proof)]
    })
    t.equal(used?.status, 200)
    t.equal(replayed?.status, 401)
    t.match(replayed?.headers.get('www-authenticate'), /^DPoP error="invalid_dpop_proof"/)
  }
  const answers = await undisturbed(() => {
    const proof = proofWith()
    return Promise.all(Array.from({ length: 20 }, (_, at) => call(at % 2 ? one : other, proof)))
  })
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'one of 20 concurrent requests succeeds')

  await t.test(
    'without Redis, each gateway rejects a proof that it has already accepted, and counts the fallback',
    async (t) => {
      await redis.stop()
      const proof = proofWith()
      t.equal((await call(one, proof)).status, 200)
      t.equal((await call(one, proof)).status, 401)
      t.ok((await fallbacks(one)) > 0)
    },
  )
})

t.test('accepts the same jti from two keys', async (t) => {
  const under = await startBound(t)
  const other = aProofKey()
  under.issuer.store('other-token', { sub: 'u2', scope: 'courses:read', cnf: { jkt: other.thumbprint } })
  const jti = randomUUID()
  t.equal((await call(under, proofWith({ jti }))).status, 200)
  const response = await fetch(`${under.gateway.url}/api/courses`, {
    headers: {
      authorization: 'DPoP other-token',
      dpop: aProof({ key: other, url, token: 'other-token', claims: { jti } }),
    },
  })
  t.equal(response.status, 200)
})

t.test('§9 of RFC 9449: a required nonce must be at most two minutes old', async (t) => {
  // The clock stops in the middle of a minute, so that a nonce and its proof belong to the same minute.
  const now = Math.floor(Date.now() / 60_000) * 60 + 30
  t.intercept(Date, 'now', { value: () => now * 1_000 })
  const under = await startBound(t, {
    change: (config) => ({ ...config, dpop: { nonceSecrets: [SECRET] } }),
  })
  const nonces = createNonces(SECRET)
  const bad = {
    none: undefined,
    'a number': 1,
    empty: '',
    invented: 'AAAA',
    'three minutes old': nonces.current(now - 180),
    'from the future': nonces.current(now + 180),
    'of another secret': createNonces(`${SECRET}!`).current(now),
  }
  for (const [what, nonce] of Object.entries(bad)) {
    const response = await call(under, proofWith({ nonce }))
    t.equal(response.status, 401, what)
    t.equal(parseObject(await response.text())['error'], 'use_dpop_nonce', what)
    t.match(response.headers.get('www-authenticate'), /^DPoP error="use_dpop_nonce".*algs="/, what)
    t.match(response.headers.get('dpop-nonce'), /^[\w-]{43}$/, what)
  }
  t.equal(under.upstream.bytes, '', 'nothing was forwarded')
  const told = (await call(under, proofWith())).headers.get('dpop-nonce')
  const proof = proofWith({ nonce: told })
  const good = await call(under, proof)
  t.equal(good.status, 200)
  t.equal((await call(under, proof)).status, 401, 'the proof is valid once')
  const previous = await call(under, proofWith({ nonce: nonces.current(now - 60) }))
  t.equal(previous.status, 200)
  t.match(previous.headers.get('dpop-nonce'), /^[\w-]{43}$/, 'the response carries the next nonce')
  t.match(previous.headers.get('access-control-expose-headers'), 'DPoP-Nonce')
  const denied = await fetch(`${under.gateway.url}/api/courses`, {
    method: 'POST',
    headers: {
      authorization: `DPoP ${token}`,
      dpop: aProof({ key, url, token, method: 'POST', claims: { nonce: nonces.current(now - 60) } }),
    },
  })
  t.equal(denied.status, 403, 'the scope is missing')
  t.equal(denied.headers.get('dpop-nonce'), nonces.current(now), 'a rejection carries the next nonce too')
})

t.test('opens a WebSocket only for a client that proves possession of the key', async (t) => {
  const sockets = await startWebsocketUpstream()
  t.teardown(sockets.close)
  const under = await startBound(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
routes:
  - { name: live, match: { methods: [GET], path: /api/live }, websocket: true, anonymous: challenge, scopes: { all: [courses:read] } }
`,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [sockets.url] } : one)),
    }),
  })
  const address = `${under.gateway.url}/api/live`
  const authorization = `DPoP ${token}`
  const dpop = aProof({ key, url: `${BASE_URL}/api/live`, token })
  await t.rejects(openWebsocket(address, token), /401/)
  await t.rejects(openWebsocket(address, undefined, { authorization, dpop: proofWith() }), /401/)
  const client = await openWebsocket(address, undefined, { authorization, dpop })
  t.equal(under.gateway.url.startsWith('http'), true)
  await t.rejects(
    openWebsocket(address, undefined, { authorization, dpop }),
    /401/,
    'a proof opens one session',
  )
  client.socket.close()
  await client.closed
})

t.test('never forwards the proof, even to an upstream that receives the token', async (t) => {
  const under = await startBound(t)
  const dpop = aProof({ key, url: `${BASE_URL}/api/trusted`, token })
  t.equal((await call(under, dpop, '/api/trusted')).status, 200)
  t.match(under.upstream.bytes, `authorization: DPoP ${token}`)
  t.notMatch(under.upstream.bytes.toLowerCase(), /^dpop:/m)
  await fetch(`${under.gateway.url}/api/open`, { headers: { dpop } })
  t.notMatch(under.upstream.bytes.toLowerCase(), /^dpop:/m)
})

t.test('forwards a proof to the authorization server on its endpoints', async (t) => {
  const under = await startBound(t)
  await fetch(`${under.gateway.url}/api/oauth/token`, { method: 'POST', headers: { dpop: 'a.proof' } })
  t.match(under.authorizationServer.bytes, /^dpop: a\.proof/im)
})

t.test('createUsedProofs() keeps a bounded number of proofs, each only while it is valid', async (t) => {
  const used = createUsedProofs(2)
  t.equal(used.use('a', 100, 50), true)
  t.equal(used.use('a', 100, 100), false)
  t.equal(used.use('b', 100, 50), true)
  t.equal(used.use('a', 100, 60), false, 'a lookup does not extend the entry')
  t.equal(used.use('c', 100, 50), true)
  t.equal(used.size, 2)
  t.equal(used.use('b', 100, 60), false)
  t.equal(used.use('a', 100, 60), true, 'the oldest entry was evicted')
})
