import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { request as requestPlainly } from 'node:http'
import { Agent, request as requestSecurely } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { describeTokenFault } from '../../gateway/pipeline/describe-fault.ts'
import { aCertificate, type TestCertificate } from '../fixtures/a-certificate.ts'
import { BASE_URL, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { startTlsGateway } from '../fixtures/a-tls-gateway.ts'
import { parseObject } from '../fixtures/send.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const WEBSOCKET_POLICY = `apiVersion: scopegate/v1
kind: Policy
name: live
upstream: api
routes:
  - { name: live, match: { methods: [GET], path: /api/live }, websocket: true, anonymous: challenge, scopes: { all: [courses:read] } }
`
const HOUR_MS = 3_600_000
const authority = aCertificate({ authority: true })
const own = aCertificate()
const other = aCertificate()
const vouchedFor = aCertificate({ by: authority })
const expired = aCertificate({ fromMs: Date.now() - 2 * HOUR_MS, untilMs: Date.now() - HOUR_MS })
const early = aCertificate({ fromMs: Date.now() + HOUR_MS, untilMs: Date.now() + 2 * HOUR_MS })

const derOf = ({ cert }: TestCertificate): Buffer => new X509Certificate(cert).raw
const thumbprintOf = (certificate: TestCertificate): string => hash('sha256', derOf(certificate), 'base64url')
const hexOf = (certificate: TestCertificate): string => hash('sha256', derOf(certificate), 'hex')
const pemUrl = ({ cert }: TestCertificate): string => encodeURIComponent(cert)

type Headers = Readonly<Record<string, string | readonly string[]>>
type Answer = {
  readonly status: number
  readonly challenge: string
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Sends a request with a bearer token to the gateway at `base`. `client` is the client certificate of the connection.
 */
async function call(
  base: string,
  token: string,
  more: { readonly client?: TestCertificate; readonly headers?: Headers; readonly agent?: Agent } = {},
): Promise<Answer & { readonly socket: TLSSocket }> {
  const { client, agent = false } = more
  const url = new URL('/api/courses', base)
  const headers = { authorization: `Bearer ${token}`, ...more.headers } as Record<string, string | string[]>
  const outgoing =
    url.protocol === 'https:'
      ? requestSecurely(url, {
          agent,
          headers,
          rejectUnauthorized: false,
          ...(client === undefined ? {} : { cert: client.cert, key: client.key }),
        })
      : requestPlainly(url, { agent: false, headers })
  const [response] = await once(outgoing.end(), 'response')
  const body = await text(response)
  return {
    status: response.statusCode,
    challenge: String(response.headers['www-authenticate'] ?? ''),
    body: parseObject(body),
    socket: response.socket as TLSSocket,
  }
}

function isRejected(
  t: Test,
  answer: Answer,
  reason: 'certificate_missing' | 'wrong_certificate',
  what: string,
) {
  const description = describeTokenFault({ reason }, undefined)
  t.equal(answer.status, 401, what)
  t.equal(answer.body['error'], 'invalid_token', what)
  t.equal(answer.body['error_description'], description, what)
  t.ok(
    answer.challenge.startsWith(
      `Bearer error="invalid_token", error_description="${description}", resource_metadata=`,
    ),
    what,
  )
}

async function startListener(
  t: Test,
  ca: string | undefined,
  change?: (config: GatewayConfig) => GatewayConfig,
  policy: string = POLICY,
) {
  const issuer = await startJwtIssuer()
  t.teardown(issuer.close)
  const under = await startTlsGateway(t, {
    policy,
    change: (config) => {
      const changed: GatewayConfig = {
        ...config,
        tls: config.tls === undefined ? undefined : { ...config.tls, clientCertificates: { ca } },
        issuers: [aJwtIssuerConfig(issuer.issuer)],
      }
      return change?.(changed) ?? changed
    },
  })
  const tokenFor = (certificate: TestCertificate): string =>
    issuer.sign({
      aud: 'https://127.0.0.1',
      scope: 'courses:read',
      cnf: { 'x5t#S256': thumbprintOf(certificate) },
    })
  return { under, tokenFor, base: under.gateway.url, issuer }
}

t.test('§3 of RFC 8705: the TLS listener uses only the certificate of the connection', async (t) => {
  const { under, tokenFor, base, issuer } = await startListener(t, undefined)
  const token = tokenFor(own)
  isRejected(t, await call(base, token), 'certificate_missing', 'no certificate')
  isRejected(t, await call(base, token, { client: other }), 'wrong_certificate', 'another certificate')
  isRejected(
    t,
    await call(base, tokenFor(expired), { client: expired }),
    'certificate_missing',
    'an expired certificate',
  )
  isRejected(
    t,
    await call(base, tokenFor(early), { client: early }),
    'certificate_missing',
    'a certificate that is not yet valid',
  )
  const spoofed: Headers = {
    'x-forwarded-client-cert': `Hash=${hexOf(own)}`,
    'x-client-cert': derOf(own).toString('base64'),
    'ssl-client-cert': pemUrl(own),
    'X-SSL-Client-Cert': pemUrl(own),
    x_forwarded_client_cert: `Hash=${hexOf(own)}`,
    'client-cert': `:${derOf(own).toString('base64')}:`,
  }
  isRejected(
    t,
    await call(base, token, { headers: spoofed }),
    'certificate_missing',
    'headers without a certificate',
  )
  isRejected(
    t,
    await call(base, token, { client: other, headers: spoofed }),
    'wrong_certificate',
    'headers and another certificate',
  )
  t.equal(under.upstream.bytes, '', 'nothing was forwarded')

  t.equal((await call(base, token, { client: own, headers: spoofed })).status, 200)
  t.match(under.upstream.bytes, 'x-auth-subject: user-1')
  t.notMatch(under.upstream.bytes, /client[-_]cert/i, 'the gateway forwards no certificate')
  const plain = issuer.sign({ aud: 'https://127.0.0.1', scope: 'courses:read' })
  t.equal((await call(base, plain)).status, 200, 'an unbound token requires no certificate')
  t.equal((await call(base, plain, { client: expired })).status, 200)

  const metadata = requestSecurely(new URL('/.well-known/oauth-protected-resource', base), {
    rejectUnauthorized: false,
  })
  const [response] = await once(metadata.end(), 'response')
  t.equal(parseObject(await text(response))['tls_client_certificate_bound_access_tokens'], true)
})

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  t.test(`a resumed session (${version}) keeps its original certificate`, async (t) => {
    const { tokenFor, base } = await startListener(t, undefined)
    const agent = new Agent({
      keepAlive: false,
      maxCachedSessions: 10,
      maxVersion: version,
      minVersion: version,
      rejectUnauthorized: false,
    })
    t.teardown(() => agent.destroy())
    const first = await call(base, tokenFor(own), { client: own, agent })
    t.equal(first.status, 200)
    const second = await call(base, tokenFor(own), { client: own, agent })
    t.equal(second.socket.isSessionReused(), true, 'the client resumed the session')
    t.equal(second.status, 200)
    isRejected(
      t,
      await call(base, tokenFor(other), { client: own, agent }),
      'wrong_certificate',
      'a token bound to another certificate',
    )
  })

t.test('with a client CA, accepts only certificates that the CA signed', async (t) => {
  const { under, tokenFor, base } = await startListener(t, authority.cert)
  isRejected(
    t,
    await call(base, tokenFor(own), { client: own }),
    'certificate_missing',
    'a self-signed certificate',
  )
  const impostor = aCertificate({ by: aCertificate({ authority: true, commonName: authority.name }) })
  isRejected(
    t,
    await call(base, tokenFor(impostor), { client: impostor }),
    'certificate_missing',
    'a CA with the same name',
  )
  t.equal(under.upstream.bytes, '')
  t.equal((await call(base, tokenFor(vouchedFor), { client: vouchedFor })).status, 200)
})

const XFCC_CERT = `Cert="${pemUrl(own)}"`
/**
 * Header formats. `right`: values with the certificate of the token. `wrong`: another certificate. `none`: no usable
 * certificate.
 */
const FORMATS = [
  {
    header: { name: 'x-forwarded-client-cert', format: 'xfcc' },
    right: [
      `Hash=${hexOf(own)}`,
      `By=spiffe://a/b;Hash=${hexOf(own).toUpperCase()};Subject="CN=a\\"b,O=c;d";URI=spiffe://a/c;DNS=x;DNS=y`,
      XFCC_CERT,
      `Hash=${hexOf(own)};${XFCC_CERT}`,
    ],
    wrong: [`Hash=${hexOf(other)}`],
    none: {
      empty: '',
      'no hash': 'By=spiffe://a/b;Subject="CN=a"',
      'a short hash': `Hash=${hexOf(own).slice(2)}`,
      'two elements': `Hash=${hexOf(own)},Hash=${hexOf(other)}`,
      'two hashes': `Hash=${hexOf(other)};Hash=${hexOf(own)}`,
      'a hash in the subject': `Subject="Hash=${hexOf(own)}"`,
      'an open quote': `Subject="CN=a;Hash=${hexOf(own)}`,
      'hash and certificate that do not match': `Hash=${hexOf(other)};${XFCC_CERT}`,
      'an invalid certificate': `Hash=${hexOf(own)};Cert="x"`,
      'an old certificate': `Cert="${pemUrl(expired)}"`,
    },
  },
  {
    header: { name: 'ssl-client-cert', format: 'pem-url' },
    right: [pemUrl(own)],
    wrong: [pemUrl(other)],
    none: {
      empty: '',
      words: 'yes',
      'broken encoding': `${pemUrl(own)}%`,
      'half a certificate': encodeURIComponent(own.cert.slice(0, 200)),
      'two certificates': pemUrl(own) + pemUrl(other),
      'a key': encodeURIComponent(own.key),
      'no certificate data': encodeURIComponent(
        '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      ),
      'an old one': pemUrl(expired),
      'one of tomorrow': pemUrl(early),
    },
  },
  {
    header: { name: 'x-client-cert', format: 'base64-der' },
    right: [derOf(own).toString('base64')],
    wrong: [derOf(other).toString('base64')],
    none: {
      empty: '',
      words: 'yes',
      'white space in it': derOf(own)
        .toString('base64')
        .replace(/^.{20}/, '$& '),
      'no padding': derOf(own).toString('base64url'),
      'a byte less': derOf(own).subarray(1).toString('base64'),
      'an old one': derOf(expired).toString('base64'),
    },
  },
] as const

for (const { header, right, wrong, none } of FORMATS)
  t.test(
    `${header.format} in ${header.name}: accepts one certificate, from trusted proxies only`,
    async (t) => {
      const issuer = await startJwtIssuer()
      t.teardown(issuer.close)
      const start = (trustedProxies: readonly string[]) =>
        startGatewayUnderTest(t, {
          change: (config) => ({
            ...config,
            trustedProxies,
            clientCertificateHeader: header,
            issuers: [aJwtIssuerConfig(issuer.issuer)],
          }),
        })
      const signed = (certificate: TestCertificate) =>
        issuer.sign({
          aud: BASE_URL,
          scope: 'courses:read',
          cnf: { 'x5t#S256': thumbprintOf(certificate) },
        })
      const behind = await start(['127.0.0.1'])
      const base = behind.gateway.url
      const send = (value: string | readonly string[], certificate = own) =>
        call(base, signed(certificate), { headers: { [header.name]: value } })

      isRejected(t, await call(base, signed(own)), 'certificate_missing', 'no header')
      for (const value of wrong) isRejected(t, await send(value), 'wrong_certificate', 'another certificate')
      for (const [what, value] of Object.entries(none)) {
        const certificate = what.includes('old') ? expired : what.includes('tomorrow') ? early : own
        isRejected(t, await send(value, certificate), 'certificate_missing', what)
      }
      isRejected(t, await send([right[0], right[0]]), 'certificate_missing', 'two lines')
      const folded = { [header.name.replaceAll('-', '_')]: right[0] }
      isRejected(
        t,
        await call(base, signed(own), { headers: folded }),
        'certificate_missing',
        'another spelling',
      )
      t.equal(behind.upstream.bytes, '', 'nothing was forwarded')
      for (const value of right) t.equal((await send(value)).status, 200, value.slice(0, 40))
      t.notMatch(behind.upstream.bytes, /client[-_]cert/i, 'the gateway does not forward the header')

      const open = await start(['192.0.2.1'])
      isRejected(
        t,
        await call(open.gateway.url, signed(own), { headers: { [header.name]: right[0] } }),
        'certificate_missing',
        'from an untrusted peer',
      )
      t.equal(open.upstream.bytes, '')
    },
  )

t.test('opens a WebSocket only on a connection with the certificate of the token', async (t) => {
  const sockets = await startWebsocketUpstream()
  t.teardown(sockets.close)
  const { tokenFor, base } = await startListener(
    t,
    undefined,
    (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [sockets.url] } : one)),
    }),
    WEBSOCKET_POLICY,
  )
  const open = (client: Partial<TestCertificate>) =>
    openWebsocket(
      `${base}/api/live`,
      tokenFor(own),
      {},
      { rejectUnauthorized: false, cert: client.cert, key: client.key },
    )
  await t.rejects(open({}), /401/)
  await t.rejects(open(other), /401/)
  const client = await open(own)
  client.socket.close()
  await client.closed
})

t.test('does not use the certificate of a trusted proxy as the client certificate', async (t) => {
  const { tokenFor, base } = await startListener(t, undefined, (config) => ({
    ...config,
    trustedProxies: ['127.0.0.1'],
    clientCertificateHeader: { name: 'ssl-client-cert', format: 'pem-url' },
  }))
  isRejected(
    t,
    await call(base, tokenFor(own), { client: own }),
    'certificate_missing',
    'the proxy sends no client certificate header',
  )
  const named = { headers: { 'ssl-client-cert': pemUrl(own) } }
  t.equal((await call(base, tokenFor(own), { client: other, ...named })).status, 200)
})
