import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { FORGED_HEADERS, MARK } from '../fixtures/forged-headers.ts'
import { until } from '../fixtures/until.ts'

/** Header names that only the gateway sends to upstreams. */
const OURS: ReadonlySet<string> = new Set([
  'x-auth-subject',
  'x-auth-client-id',
  'x-auth-scope',
  'x-auth-issuer',
  'x-request-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'via',
])

t.test(
  `of ${FORGED_HEADERS.length} forged header spellings from an untrusted peer, the upstream receives none`,
  async (t) => {
    const { raw, upstream, issuer } = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, trustedProxies: ['10.0.0.0/8', '::1'] }),
    })
    issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
    t.ok(FORGED_HEADERS.length >= 40)
    let sent = 0
    for (const authorization of ['', 'Authorization: Bearer good\r\n']) {
      for (const target of ['/api/courses', '/pub/x']) {
        for (const spelling of FORGED_HEADERS) {
          await raw(
            `GET ${target} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n${authorization}${spelling}\r\n\r\n`,
          )
          sent += 1
          const seen = upstream.requests.at(-1)?.headers ?? []
          const said = JSON.stringify(seen)
          if (upstream.requests.length !== sent) t.fail(`${target} was not forwarded once: ${spelling}`)
          if (said.includes(MARK) || said.includes('evil')) t.fail(`${spelling} came through: ${said}`)
          const names = seen.map(([name]) => name.toLowerCase()).filter((name) => OURS.has(name))
          const expected = [...OURS].filter((name) => authorization !== '' || !name.startsWith('x-auth-'))
          t.same(names.toSorted(), expected.toSorted(), `${spelling}: each gateway header occurs once`)
          t.same(upstream.seen('x-forwarded-for'), ['127.0.0.1'])
          t.same(upstream.seen('x-forwarded-host'), ['api.test'])
          t.same(upstream.seen('x-auth-subject'), authorization === '' ? [] : ['user-1'])
        }
      }
    }
    t.equal(sent, FORGED_HEADERS.length * 4)
    t.notMatch(upstream.bytes, /6\.6\.6\.6|evil/)
  },
)

t.test('header names that are not valid in HTTP are rejected, not corrected', async (t) => {
  const { raw, upstream } = await startGatewayUnderTest(t)
  for (const line of [
    'X-Auth-Subject : root',
    ' X-Auth-Subject: root',
    'X-Auth Subject: root',
    'X-Auth-Subject\t: root',
    'X-Auth-Subject\0: root',
    'X-A: 1\r\n\tX-Auth-Subject: root',
    'X-A: 1\rX-Auth-Subject: root',
    'X-A: 1\nX-Auth-Subject: root',
  ])
    t.match(
      await raw(`GET /pub/x HTTP/1.1\r\nHost: api.test\r\n${line}\r\n\r\n`),
      /^HTTP\/1\.1 400 /,
      JSON.stringify(line),
    )
  t.equal(upstream.bytes, '')
})

t.test('trusts a trusted proxy for the client address and the request ID only', async (t) => {
  const { raw, upstream, log } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] }),
  })
  const answer = await raw(
    [
      'GET /pub/x HTTP/1.1',
      'Host: evil.test',
      'Connection: close',
      'X-Forwarded-For: 6.6.6.6, 203.0.113.9',
      'X-Forwarded-For: 10.1.2.3',
      'X-Forwarded-Host: evil.test',
      'X-Forwarded-Proto: https',
      'Forwarded: for=198.51.100.1',
      'X-Real-IP: 198.51.100.2',
      'X-Auth-Subject: root',
      'X-Request-Id: from_the-proxy_1',
      '\r\n',
    ].join('\r\n'),
  )
  t.match(answer, /^HTTP\/1\.1 200 .*x-request-id: from_the-proxy_1\r\n/is)
  t.same(upstream.seen('x-forwarded-for'), ['203.0.113.9'], 'the rightmost that is not a proxy, alone')
  t.same(upstream.seen('x-forwarded-host'), ['api.test'])
  t.same(upstream.seen('x-forwarded-proto'), ['http'])
  t.same(upstream.seen('x-request-id'), ['from_the-proxy_1'])
  t.same(upstream.seen('x-auth-subject'), [])
  t.notMatch(upstream.bytes, /6\.6\.6\.6|198\.51\.100|evil|root/)
  const line = await until('the line', async () =>
    log().find((one) => one['request_id'] === 'from_the-proxy_1'),
  )
  t.match(line, { 'client.address': '203.0.113.9' })
})

t.test('metadata and challenges ignore host names in headers, also from a trusted proxy', async (t) => {
  const { raw } = await startGatewayUnderTest(t, {
    change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'] }),
  })
  const spoofed =
    'Host: evil.test\r\nX-Forwarded-Host: evil.test\r\nForwarded: host=evil.test\r\nConnection: close'
  for (const target of ['/.well-known/oauth-protected-resource', '/api/challenged', '/auth.md', '/']) {
    const answer = await raw(`GET ${target} HTTP/1.1\r\n${spoofed}\r\n\r\n`)
    t.notMatch(answer, /evil/, target)
  }
})

t.test(
  'replaces a request ID that is too long or unsafe for a log line, also from a trusted proxy',
  async (t) => {
    const { raw, upstream } = await startGatewayUnderTest(t, {
      change: (config) => ({ ...config, trustedProxies: ['127.0.0.1'] }),
    })
    for (const id of ['', 'a b', 'a"b', '{"a":1}', 'a,b', 'é', 'x'.repeat(129), 'a\r\nX-Request-Id: b']) {
      await raw(`GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nX-Request-Id: ${id}\r\n\r\n`)
      t.match(upstream.seen('x-request-id'), [/^[0-9a-f]{8}-[0-9a-f]{4}-7/], JSON.stringify(id))
    }
    const longest = 'x'.repeat(128)
    await raw(
      `GET /pub/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nX-Request-Id: ${longest}\r\n\r\n`,
    )
    t.same(upstream.seen('x-request-id'), [longest])
  },
)
