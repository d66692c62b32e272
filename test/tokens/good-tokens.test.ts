import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { IssuerConfig, JwtConfig } from '../../gateway/tokens/issuer-config.ts'
import { ALGORITHMS } from '../../oauth/jwt/verification-key.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { type JwtIssuer, type JwtIssuerOptions, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { parseObject, send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

type Claims = Readonly<Record<string, unknown>>

async function anIssuer(t: Test, options?: JwtIssuerOptions): Promise<JwtIssuer> {
  const issuer = await startJwtIssuer(options)
  t.teardown(() => issuer.close())
  return issuer
}

const startWith = (t: Test, issuers: readonly IssuerConfig[], dataDir?: string) =>
  startGatewayUnderTest(t, {
    change: (config) => ({ ...config, issuers: [...config.issuers, ...issuers], dataDir }),
  })

const ask = (under: GatewayUnderTest, token: string) => send(`${under.gateway.url}/api/courses`, { token })
const good = (change: Claims = {}) => ({ aud: BASE_URL, scope: 'courses:read', ...change })

t.test('accepts a token of each algorithm on the routes that its scopes allow', async (t) => {
  const issuer = await anIssuer(t, { algorithms: [...ALGORITHMS.keys()] })
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer, { algorithms: [...ALGORITHMS.keys()] })])
  for (const alg of ALGORITHMS.keys()) {
    t.equal((await ask(under, issuer.sign(good({ sub: `user of ${alg}` }), { alg }))).status, 200, alg)
    t.same(under.upstream.seen('x-auth-subject'), [`user of ${alg}`])
  }
  t.equal(issuer.keyFetches, 1, 'the gateway fetched the keys before the first token')
})

/** The special properties of tokens of well-known issuers. */
const SHAPES: readonly {
  readonly name: string
  readonly server: JwtIssuerOptions
  readonly config: Partial<JwtConfig>
  readonly header: Claims
  readonly claims: Claims
  readonly client: string
}[] = [
  {
    name: 'RFC 9068',
    server: {},
    config: {},
    header: {},
    claims: good({ jti: 'id-1', auth_time: 1, acr: '1' }),
    client: 'client-1',
  },
  {
    name: 'Keycloak',
    server: { path: '/realms/main', metadata: 'openid', algorithms: ['RS256'] },
    config: { algorithms: ['RS256'], type: 'JWT' },
    header: { typ: 'JWT' },
    claims: {
      aud: [BASE_URL, 'account'],
      typ: 'Bearer',
      azp: 'keycloak-client',
      client_id: undefined,
      scope: 'openid courses:read profile',
      sid: 'session',
      realm_access: { roles: ['offline_access'] },
      resource_access: { account: { roles: ['manage-account'] } },
      'allowed-origins': ['https://app.test'],
    },
    client: 'keycloak-client',
  },
  {
    name: 'Auth0',
    server: { ending: '/', metadata: 'openid', algorithms: ['RS256'] },
    config: { algorithms: ['RS256'], type: 'JWT' },
    header: { typ: 'JWT' },
    claims: {
      sub: 'auth0|5f7c8ec7c33c6c004bbafe82',
      aud: [BASE_URL, 'https://tenant.auth.test/userinfo'],
      azp: 'auth0-client',
      client_id: undefined,
      scope: 'courses:read',
      permissions: ['courses:read'],
      gty: 'password',
    },
    client: 'auth0-client',
  },
  {
    name: 'Entra v2',
    server: { path: '/tenant/v2.0', metadata: 'openid', algorithms: ['RS256'] },
    config: { algorithms: ['RS256'], type: 'JWT', audience: ['api://courses'] },
    header: { typ: 'JWT', x5t: 'thumbprint' },
    claims: {
      aud: 'api://courses',
      scope: undefined,
      scp: 'courses:read courses:write',
      azp: 'entra-client',
      client_id: undefined,
      oid: 'object',
      tid: 'tenant',
      ver: '2.0',
      uti: 'x',
    },
    client: 'entra-client',
  },
  {
    name: 'Entra v1',
    server: { path: '/tenant', ending: '/', metadata: 'openid', algorithms: ['RS256'] },
    config: { algorithms: ['RS256'], type: 'JWT', audience: ['api://courses'] },
    header: { typ: 'JWT', x5t: 'thumbprint' },
    claims: {
      aud: 'api://courses',
      scope: undefined,
      scp: 'courses:read',
      appid: 'entra-v1-client',
      client_id: undefined,
      ver: '1.0',
    },
    client: 'entra-v1-client',
  },
  {
    name: 'Okta',
    server: { path: '/oauth2/default', algorithms: ['RS256'] },
    config: { algorithms: ['RS256'], type: 'any' },
    header: { typ: undefined },
    claims: {
      aud: BASE_URL,
      scope: undefined,
      scp: ['courses:read', 'offline_access'],
      cid: 'okta-client',
      client_id: undefined,
      uid: 'user',
      ver: 1,
    },
    client: 'okta-client',
  },
]

t.test('accepts the token formats of several well-known issuers in one gateway', async (t) => {
  const issuers = await Promise.all(SHAPES.map(({ server }) => anIssuer(t, server)))
  const under = await startWith(
    t,
    SHAPES.map(({ config }, index) => aJwtIssuerConfig(issuers[index]?.issuer ?? '', config)),
  )
  for (const [index, { name, header, claims, client }] of SHAPES.entries()) {
    const token = issuers[index]?.sign(claims, header) ?? ''
    const answer = await ask(under, token)
    t.equal(answer.status, 200, `${name}: ${answer.text}`)
    t.same(under.upstream.seen('x-auth-client-id'), [client], name)
    t.ok(under.upstream.seen('x-auth-scope')[0]?.split(' ').includes('courses:read'), name)
    t.same(under.upstream.seen('x-auth-issuer'), [issuers[index]?.issuer], name)
    t.same(under.upstream.seen('authorization'), [], 'the gateway does not forward the token')
  }
  // The gateway sends an opaque token only to the issuer with an introspection endpoint.
  under.issuer.store('opaque', { scope: 'courses:read' })
  t.equal((await ask(under, 'opaque')).status, 200)
  t.equal(under.issuer.asked.length, 1)
})

t.test('accepts a valid token and ignores keys and URLs in its header', async (t) => {
  const issuer = await anIssuer(t)
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
  const header = { jku: 'https://evil.test/keys', x5c: ['x'], typ: 'application/AT+JWT' }
  t.equal((await ask(under, issuer.sign(good(), header))).status, 200)
})

t.test(
  'denies a token with insufficient scopes, and accepts the first tokens of a new signing key',
  async (t) => {
    const issuer = await anIssuer(t)
    const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
    t.equal((await ask(under, issuer.sign(good({ scope: 'posts:read' })))).status, 403)
    const before = issuer.sign(good())
    issuer.rotate()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => ask(under, issuer.sign(good({ sub: `user-${index}` })))),
    )
    t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
    t.equal((await ask(under, before)).status, 200)
    t.equal(issuer.keyFetches, 2)
  },
)

t.test('accepts every valid token while keys rotate under load', async (t) => {
  const issuer = await anIssuer(t)
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
  const statuses = new Map<number, number>()
  let rotations = 0
  for (let round = 0; round < 4; round += 1) {
    issuer.rotate()
    rotations += 1
    const until = performance.now() + 400
    while (performance.now() < until) {
      const batch = Array.from({ length: 8 }, (_, index) =>
        ask(under, issuer.sign(good({ jti: `${round}-${index}-${performance.now()}` }))),
      )
      for (const { status } of await Promise.all(batch)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  t.same([...statuses.keys()], [200], `${statuses.get(200)} tokens over ${rotations} rotations`)
  t.ok(issuer.keyFetches <= rotations + 1, `${issuer.keyFetches} fetches`)
})

t.test('accepts valid tokens with cached keys after their issuer becomes unreachable', async (t) => {
  const issuer = await anIssuer(t)
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer, { refreshMs: 1_000 })])
  await issuer.stop()
  await until('a failed refresh', async () =>
    under.log().some(({ event }) => event === 'issuer_keys_not_fetched'),
  )
  for (let index = 0; index < 20; index += 1)
    t.equal((await ask(under, issuer.sign(good({ jti: String(index) })))).status, 200)
  const ready = await send(`${under.gateway.managementUrl}/readyz`)
  t.equal(ready.status, 200)

  issuer.rotate()
  const fresh = issuer.sign(good())
  for (const token of [fresh, fresh, issuer.sign(good(), { kid: 'made-up' })]) {
    const answer = await ask(under, token)
    t.equal(answer.status, 503, 'the unknown key may be new, and the issuer is unreachable')
    t.match(answer.headers.get('retry-after'), /^[1-9]\d?$/)
    t.equal(answer.headers.get('www-authenticate'), null)
  }
  await issuer.resume()
  await until('the keys are back', async () => (await ask(under, fresh)).status === 200)
  t.equal((await ask(under, issuer.sign(good(), { kid: 'made-up' }))).status, 401)
})

t.test(
  'without keys, the gateway is not ready, responds with 503 and recovers without a restart',
  async (t) => {
    const issuer = await anIssuer(t)
    await issuer.stop()
    const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
    const token = issuer.sign(good())
    const answer = await ask(under, token)
    t.equal(answer.status, 503)
    t.match(answer.headers.get('retry-after'), /^[1-9]\d?$/, 'the seconds until the next try')
    t.equal(answer.headers.get('www-authenticate'), null)
    t.equal(under.upstream.requests.length, 0)
    t.equal((await send(`${under.gateway.managementUrl}/readyz`)).status, 503)
    // Tokens of other issuers stay valid.
    under.issuer.store('opaque', { scope: 'courses:read' })
    t.equal((await ask(under, 'opaque')).status, 200)

    await issuer.resume()
    await until('ready', async () => (await send(`${under.gateway.managementUrl}/readyz`)).status === 200)
    t.equal((await ask(under, token)).status, 200)
  },
)

t.test('after a restart without the issuer, the gateway uses the key cache on disk', async (t) => {
  const dataDir = join(t.testdir({}), 'data')
  const issuer = await anIssuer(t)
  const first = await startWith(t, [aJwtIssuerConfig(issuer.issuer)], dataDir)
  await until('the key cache is written', async () => {
    try {
      // Until the file is complete, it has a temporary name.
      return readdirSync(dataDir).some((name) => name.endsWith('.json'))
    } catch {
      return false
    }
  })
  const [file = ''] = readdirSync(dataDir)
  t.equal(statSync(join(dataDir, file)).mode & 0o777, 0o600)
  await first.gateway.close({ how: 'immediate' })
  await issuer.stop()
  await t.test('the second gateway uses the same key cache', async (t) => {
    const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)], dataDir)
    t.equal((await ask(under, issuer.sign(good()))).status, 200)
    t.equal((await send(`${under.gateway.managementUrl}/readyz`)).status, 200)
    const other = await startWith(t, [aJwtIssuerConfig('http://127.0.0.1:1')], dataDir)
    t.equal((await ask(other, issuer.sign(good({ iss: 'http://127.0.0.1:1' })))).status, 503)
  })
})

t.test('no log and no metric contains a token, its subject or an unknown issuer', async (t) => {
  const issuer = await anIssuer(t)
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
  const tokens = [
    issuer.sign(good({ sub: 'subject-in-no-log' })),
    issuer.sign(good({ sub: 'subject-in-no-log' }), { kid: 'unknown-kid' }),
    issuer.sign(good({ iss: 'https://issuer-in-no-log.test' })),
  ]
  for (const token of tokens) await ask(under, token)
  const isAccess = ({ event }: Readonly<Record<string, unknown>>) => event === 'access'
  await until('each request is logged', async () => under.log().filter(isAccess).length === tokens.length)
  const metrics = await send(`${under.gateway.managementUrl}/metrics`)
  for (const text of [under.logText(), metrics.text]) {
    t.notMatch(text, /in-no-log/)
    for (const token of tokens) for (const part of token.split('.')) t.notOk(text.includes(part))
  }
  const unknownKeys = under.log().filter(({ event }) => event === 'issuer_key_unknown')
  t.match(unknownKeys, [{ issuer: issuer.issuer, kid: 'unknown-kid', count: 1 }], 'only this line has a kid')
  t.equal(under.logText().split('unknown-kid').length, 2)
  t.notMatch(metrics.text, 'unknown-kid')
  t.match(metrics.text, /scopegate_jwks_refresh_total\{issuer="http:\/\/127\.0\.0\.1:\d+",result="ok"\} 2/)
  t.match(metrics.text, /scopegate_jwks_last_success_timestamp_seconds\{issuer="[^"]+"\} 1\d{9}/)
  t.match(metrics.text, /scopegate_jwks_keys\{issuer="[^"]+"\} 1/)
})

t.test('the metadata names every issuer', async (t) => {
  const issuer = await anIssuer(t)
  const under = await startWith(t, [aJwtIssuerConfig(issuer.issuer)])
  const answer = await send(`${under.gateway.url}/.well-known/oauth-protected-resource`)
  t.same(parseObject(answer.text)['authorization_servers'], [BASE_URL, issuer.issuer])
})
