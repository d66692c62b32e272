import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'

t.test('only the gateway sets identity headers', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  const spoofed = [
    'X-Auth-Subject: root',
    'x_auth_subject: root',
    'X-Auth_Subject: root',
    'X.Auth.Subject: root',
    'X-Auth-Scope: courses:write',
    'X-Auth-Client-Id: evil',
    'X-Auth-Assertion: evil',
    'X-Forwarded-For: 6.6.6.6',
    'X_Forwarded_For: 6.6.6.6',
    'X-Forwarded-Host: evil.test',
    'X-Forwarded-Proto: https',
    'Forwarded: for=6.6.6.6;host=evil.test',
    'X-Real-IP: 6.6.6.6',
    'X-Request-Id: evil',
    'X-Original-URL: /api/denied',
    'X-HTTP-Method-Override: DELETE',
    'Via: 1.1 evil',
  ].join('\r\n')
  issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read posts:read' })

  for (const authorization of ['', 'Authorization: Bearer good\r\n']) {
    t.match(
      await raw(`GET /api/courses HTTP/1.1\r\n${HEAD}${authorization}${spoofed}\r\n\r\n`),
      /^HTTP\/1\.1 200 /,
    )
    const request = upstream.requests.at(-1)
    t.notMatch(JSON.stringify(request?.headers), /root|evil|6\.6\.6\.6/)
    t.same(upstream.seen('x-forwarded-for'), ['127.0.0.1'])
    t.same(upstream.seen('x-forwarded-host'), ['api.test'])
    t.same(upstream.seen('x-forwarded-proto'), ['http'])
    t.match(upstream.seen('x-request-id'), [
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    ])
    t.same(upstream.seen('via'), ['1.1 scopegate'])
    const known = authorization !== ''
    t.same(
      upstream.seen('x-auth-subject'),
      known ? ['user-1'] : [],
      'an anonymous request has no identity header',
    )
    t.same(upstream.seen('x-auth-client-id'), known ? ['client-1'] : [])
    t.same(upstream.seen('x-auth-scope'), known ? ['courses:read posts:read'] : [])
    t.same(upstream.seen('x-auth-issuer'), known ? ['http://api.test'] : [])
  }
})

t.test('a client cannot remove identity headers with Connection', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  issuer.store('good', { scope: 'courses:read' })
  await raw(
    'GET /api/courses HTTP/1.1\r\nHost: api.test\r\nConnection: close, x-auth-subject, authorization, x-mine\r\nX-Mine: 1\r\nAuthorization: Bearer good\r\n\r\n',
  )
  t.same(upstream.seen('x-auth-subject'), ['user-1'])
  t.same(upstream.seen('x-mine'), [])
})

for (const [forwardedHeader, address] of [
  ['x-forwarded-for', '192.0.2.1'],
  ['forwarded', '192.0.2.2'],
] as const)
  t.test(
    `the gateway reads the client address from ${forwardedHeader} when the configuration names it`,
    async (t) => {
      const { raw, upstream } = await startGatewayUnderTest(t, {
        change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'], forwardedHeader }),
      })
      const given = 'X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.2\r\n'
      t.match(await raw(`GET /pub/x HTTP/1.1\r\n${HEAD}${given}\r\n`), /^HTTP\/1\.1 200 /)
      t.same(upstream.seen('x-forwarded-for'), [address])
    },
  )

t.test('the gateway removes credentials unless the route forwards them', async (t) => {
  const { raw, upstream, issuer } = await startGatewayUnderTest(t)
  issuer.store('good', { scope: 'courses:read' })
  const credentials =
    'Authorization: Bearer good\r\nCookie: session=1\r\nProxy-Authorization: Basic x\r\n\r\n'
  await raw(`GET /api/courses HTTP/1.1\r\n${HEAD}${credentials}`)
  t.notMatch(upstream.bytes, /Bearer|session=1|Basic/)
  await raw(`GET /api/trusted HTTP/1.1\r\n${HEAD}${credentials}`)
  t.same(upstream.seen('authorization'), ['Bearer good'])
  t.same(upstream.seen('cookie'), ['session=1'])
  t.same(upstream.seen('proxy-authorization'), [])
})

t.test(
  'the authorization server gets credentials and cookies unchanged, but no identity header',
  async (t) => {
    const { raw, upstream, authorizationServer } = await startGatewayUnderTest(t)
    authorizationServer.reply(
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: a=1; HttpOnly\r\nset-cookie: b=2\r\naccess-control-allow-origin: https://one.test\r\n\r\n{}',
    )
    const answer = await raw(
      `POST /api/oauth/token?x=1 HTTP/1.1\r\n${HEAD}Authorization: Basic YTpi\r\nCookie: a=1\r\nX-Auth-Subject: root\r\nContent-Length: 3\r\n\r\na=b`,
    )
    t.match(answer, /^HTTP\/1\.1 200 .*set-cookie: a=1; HttpOnly\r\nset-cookie: b=2\r\n/is)
    t.same(answer.match(/access-control-allow-origin: .*/gi), [
      'access-control-allow-origin: https://one.test',
    ])
    t.equal(authorizationServer.requests[0]?.target, '/api/oauth/token?x=1')
    t.equal(authorizationServer.requests[0]?.body, 'a=b')
    t.same(authorizationServer.seen('authorization'), ['Basic YTpi'])
    t.same(authorizationServer.seen('cookie'), ['a=1'])
    t.same(authorizationServer.seen('x-auth-subject'), [])
    t.equal(upstream.bytes, '')
  },
)

t.test('internal paths of the authorization server get 404', async (t) => {
  const { raw, authorizationServer } = await startGatewayUnderTest(t)
  for (const path of [
    '/internal/revocations',
    '/internal',
    '/oauth',
    '/api/oauth/other',
    '/oauth/authorize/a/b',
  ])
    t.match(await raw(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 404 /, path)
  t.equal(authorizationServer.bytes, '')
})

t.test('a policy for every path does not match the paths of the gateway itself', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: all
owner: team
upstream: api
routes:
  - { name: all, match: { methods: [GET, POST], path: "/**" }, anonymous: allow }
`,
  })
  for (const path of [
    '/internal/revocations',
    '/oauth/x',
    '/api/oauth/*',
    '/.well-known/oauth-protected-resource/mcp',
  ])
    t.match(await raw(`GET ${path} HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 404 /, path)
  t.equal(upstream.bytes, '')
  t.match(await raw(`GET /api/x HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 200 /)
  t.match(await raw(`GET /auth.md HTTP/1.1\r\n${HEAD}\r\n`), /^HTTP\/1\.1 200 .*text\/markdown/s)
  t.equal(upstream.requests.length, 1)
})

t.test('hop-by-hop headers of the upstream do not reach the client', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  upstream.reply(
    [
      'HTTP/1.1 200 OK',
      'connection: keep-alive, x-hop',
      'keep-alive: timeout=5',
      'x-hop: 1',
      'x-kept: 1',
      'x-kept: 2',
      'proxy-authenticate: Basic',
      'x-request-id: theirs',
      'x-scopegate-error: 1',
      'access-control-allow-origin: https://evil.test',
      'www-authenticate: Basic realm="theirs"',
      'set-cookie: a=1',
      'set-cookie: b=2',
      'content-length: 2',
      '',
      '{}',
    ].join('\r\n'),
  )
  const answer = await raw(`GET /pub/x HTTP/1.1\r\n${HEAD}\r\n`)
  t.notMatch(
    answer,
    /x-hop|proxy-authenticate|theirs\b(?<!realm="theirs)|evil\.test|x-scopegate-error:|timeout=5/i,
  )
  t.match(answer, /x-kept: 1\r\nx-kept: 2\r\n/)
  t.match(answer, /set-cookie: a=1\r\nset-cookie: b=2\r\n/)
  t.match(answer, /www-authenticate: Basic realm="theirs"/)
  t.match(answer, /access-control-allow-origin: \*\r\n/)
  t.match(answer, /access-control-expose-headers: WWW-Authenticate, /)
})
