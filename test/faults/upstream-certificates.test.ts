import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { aCertificate, type TestCertificate } from '../fixtures/a-certificate.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { until } from '../fixtures/until.ts'

const authority = aCertificate({ authority: true })

type TlsUpstream = { readonly port: number; readonly served: readonly string[] }

async function startUpstream(
  t: Test,
  { cert, key }: TestCertificate,
  more: TlsOptions = {},
): Promise<TlsUpstream> {
  const served: string[] = []
  const server = createHttpsServer({ cert, key, ...more }, async (request, response) => {
    served.push(`${request.method} ${request.url}`)
    for await (const chunk of request) response.write(chunk)
    response.end('over TLS')
  })
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, served }
}

async function startBefore(t: Test, url: string, ca: string | undefined): Promise<GatewayUnderTest> {
  return startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [url], ca } : one)),
    }),
  })
}

/** Asserts that the client gets 502 without details, and that the log and the metrics contain the reason. */
async function checkRejected(t: Test, under: GatewayUnderTest, code: RegExp, reason = 'tls'): Promise<void> {
  const answer = await fetch(`${under.gateway.url}/pub/x`)
  t.equal(answer.status, 502)
  const text = await answer.text()
  t.match(JSON.parse(text), { error: 'upstream_unavailable', error_description: /./ })
  t.notMatch(text, /certificate|TLS|SSL|self.signed|127\.0\.0\.1|localhost/i)
  await until('the failure is logged', async () => under.logText().includes('upstream_failed'))
  t.match(
    under.log().find(({ event }) => event === 'upstream_failed'),
    { err: { code } },
  )
  t.match(
    await (await fetch(`${under.gateway.managementUrl}/metrics`)).text(),
    `scopegate_upstream_errors_total{upstream="api",reason="${reason}"} 1`,
  )
}

const REJECTED: readonly [
  what: string,
  certificate: TestCertificate,
  ca: string | undefined,
  code: RegExp,
][] = [
  ['signed by itself', aCertificate(), undefined, /^DEPTH_ZERO_SELF_SIGNED_CERT$/],
  [
    'of a CA that is not configured',
    aCertificate({ by: authority }),
    undefined,
    /^UNABLE_TO_VERIFY_LEAF_SIGNATURE$/,
  ],
  [
    'of a CA other than the configured one',
    aCertificate({ by: aCertificate({ authority: true }) }),
    authority.cert,
    /^UNABLE_TO_/,
  ],
  [
    'for another name',
    aCertificate({ by: authority, names: ['api.test', '10.0.0.1'] }),
    authority.cert,
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  ],
  [
    'that has expired',
    aCertificate({ by: authority, untilMs: Date.now() - 60_000 }),
    authority.cert,
    /^CERT_HAS_EXPIRED$/,
  ],
  [
    'that is not valid yet',
    aCertificate({ by: authority, fromMs: Date.now() + 3_600_000 }),
    authority.cert,
    /^CERT_NOT_YET_VALID$/,
  ],
  // The issuer of this certificate is an end-entity certificate.
  [
    'signed by a certificate that is not a CA',
    aCertificate({ by: aCertificate({ by: authority }) }),
    authority.cert,
    /^UNABLE_TO_|^INVALID_/,
  ],
]

for (const [what, certificate, ca, code] of REJECTED)
  t.test(`an upstream with a certificate ${what} causes 502 and receives no request`, async (t) => {
    const upstream = await startUpstream(t, certificate)
    const under = await startBefore(t, `https://127.0.0.1:${upstream.port}`, ca)
    await checkRejected(t, under, code)
    t.same(upstream.served, [])
  })

t.test('a client cannot choose the expected name of the upstream certificate', async (t) => {
  const upstream = await startUpstream(t, aCertificate({ by: authority, names: ['evil.test'] }))
  const under = await startBefore(t, `https://localhost:${upstream.port}`, authority.cert)
  for (const host of ['evil.test', `evil.test:${upstream.port}`]) {
    const { statuses } = await sendBytes(
      under.gateway.url,
      `GET /pub/x HTTP/1.1\r\nhost: ${host}\r\nx-forwarded-host: evil.test\r\nconnection: close\r\n\r\n`,
    )
    t.same(statuses, [502], host)
  }
  t.same(upstream.served, [])
})

t.test('an upstream without TLS, or with an outdated TLS version, causes 502', async (t) => {
  const plain = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
  }).listen(0, '127.0.0.1')
  await once(plain, 'listening')
  t.teardown(() => plain.close())
  const { port } = plain.address() as { port: number }
  await checkRejected(t, await startBefore(t, `https://127.0.0.1:${port}`, authority.cert), /^ERR_SSL_/)

  const old = await startUpstream(t, aCertificate({ by: authority }), {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  await checkRejected(t, await startBefore(t, `https://127.0.0.1:${old.port}`, authority.cert), /^ERR_SSL_/)
})

t.test(
  'accepts an upstream certificate of the configured CA by address, by name and with a chain',
  async (t) => {
    const between = aCertificate({ by: authority, authority: true })
    const leaf = aCertificate({ by: between })
    const upstream = await startUpstream(t, { ...leaf, cert: leaf.cert + between.cert })
    for (const host of ['127.0.0.1', 'localhost']) {
      const under = await startBefore(t, `https://${host}:${upstream.port}`, authority.cert)
      const answer = await fetch(`${under.gateway.url}/pub/x`, { method: 'POST', body: 'x'.repeat(500_000) })
      t.equal(answer.status, 200, host)
      t.equal((await answer.text()).length, 500_008)
    }
    t.same(upstream.served, ['POST /pub/x', 'POST /pub/x'])
  },
)

t.test('no environment variable disables certificate verification', async (t) => {
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.teardown(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'])
  const upstream = await startUpstream(t, aCertificate())
  await checkRejected(
    t,
    await startBefore(t, `https://127.0.0.1:${upstream.port}`, undefined),
    /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
  )
  t.same(upstream.served, [])
})

t.test('without a configured CA, the gateway trusts the CAs of the process', async (t) => {
  const upstream = await startUpstream(t, aCertificate({ by: authority }))
  // Equivalent to NODE_EXTRA_CA_CERTS.
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, authority.cert])
  t.teardown(() => setDefaultCACertificates(before))
  const { gateway } = await startBefore(t, `https://127.0.0.1:${upstream.port}`, undefined)
  t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
})
