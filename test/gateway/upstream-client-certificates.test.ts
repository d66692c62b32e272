import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import type { HealthCheckSettings } from '../../gateway/upstreams/health-check.ts'
import { aCertificate, type TestCertificate } from '../fixtures/a-certificate.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

t.jobs = 4 // each test starts its own gateway and needs little CPU time

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
owner: team-test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET, POST], path: "/pub/**" } }
  - { name: live, match: { methods: [GET], path: /live }, websocket: true }
`

const authority = aCertificate({ authority: true })
const clientAuthority = aCertificate({ authority: true })
const clientCertificate = (commonName: string): TestCertificate =>
  aCertificate({ by: clientAuthority, commonName, names: ['gateway.test'] })

type MutualUpstream = {
  readonly url: string
  /** The request line and the common name of the client certificate of each request. */
  readonly seen: readonly (readonly [request: string, commonName: string])[]
  closeConnections(): void
}

/** Starts an upstream that rejects clients without a certificate of `clientAuthority`. */
async function startMutualUpstream(t: Test): Promise<MutualUpstream> {
  const { cert, key } = aCertificate({ by: authority })
  const seen: (readonly [string, string])[] = []
  const nameOf = (socket: unknown): string =>
    String((socket as TLSSocket).getPeerCertificate().subject?.CN ?? 'resumed')
  const server = createServer(
    { cert, key, ca: clientAuthority.cert, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      seen.push([`${request.method} ${request.url}`, nameOf(request.socket)])
      response.end('for known clients')
    },
  )
  server.on('upgrade', (request, socket) => {
    seen.push([`UPGRADE ${request.url}`, nameOf(socket)])
    socket.on('error', () => undefined).destroy()
  })
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `https://127.0.0.1:${(server.address() as { port: number }).port}`,
    seen,
    closeConnections: () => server.closeAllConnections(),
  }
}

async function start(
  t: Test,
  first: TestCertificate | undefined,
  healthCheck?: HealthCheckSettings,
): Promise<
  GatewayUnderTest & {
    readonly mutual: MutualUpstream
    readonly certFile: string
    readonly keyFile: string
  }
> {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-client-certificate-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  if (first !== undefined) {
    writeFileSync(certFile, first.cert)
    writeFileSync(keyFile, first.key)
  }
  const mutual = await startMutualUpstream(t)
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api'
          ? {
              ...one,
              urls: [mutual.url],
              ca: authority.cert,
              certificate: first && { certFile, keyFile },
              openapiPath: '/openapi',
              healthCheck,
            }
          : one,
      ),
    }),
  })
  return { ...under, mutual, certFile, keyFile }
}

t.test('the gateway sends its client certificate with each kind of request', async (t) => {
  const { gateway, mutual } = await start(t, clientCertificate('gateway-1'))
  const response = await send(`${gateway.url}/pub/x`)
  t.equal(response.status, 200)
  t.equal(response.text, 'for known clients')
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/live`)
  socket.addEventListener('error', () => undefined)
  await until('the handshake arrives', async () => mutual.seen.some(([line]) => line === 'UPGRADE /live'))
  t.same(new Set(mutual.seen.map(([line]) => line)), new Set(['GET /openapi', 'GET /pub/x', 'UPGRADE /live']))
  t.ok(mutual.seen.every(([, name]) => name === 'gateway-1'))
  t.match(
    (await send(`${gateway.managementUrl}/metrics`)).text,
    /scopegate_upstream_certificate_expiry_seconds\{upstream="api"\} 1\d{9}/,
  )
})

t.test('probes verify the certificate of the upstream, and send the client certificate', async (t) => {
  const healthCheck = {
    path: '/healthz',
    intervalMs: 50,
    timeoutMs: 10_000,
    unhealthyAfter: 1,
    healthyAfter: 1,
    statuses: undefined,
  }
  const known = await start(t, clientCertificate('gateway-1'), healthCheck)
  await until('a probe arrives', async () => known.mutual.seen.some(([line]) => line === 'GET /healthz'))
  t.ok(known.mutual.seen.every(([, name]) => name === 'gateway-1'))
  t.equal((await send(`${known.gateway.url}/pub/x`)).status, 200)

  const unknown = await start(t, undefined, healthCheck)
  await until('the target is unhealthy', async () =>
    unknown.log().some(({ event, reason }) => event === 'target_ejected' && reason === 'health_check'),
  )
  t.same(unknown.mutual.seen, [])
  t.equal((await send(`${unknown.gateway.url}/pub/x`)).status, 503)
})

t.test(
  'without a client certificate, the upstream rejects the gateway and the client gets 502',
  async (t) => {
    const { gateway, mutual } = await start(t, undefined)
    const response = await send(`${gateway.url}/pub/x`)
    t.equal(response.status, 502)
    t.equal(response.json['error'], 'upstream_unavailable')
    t.notMatch(response.text, /certificate/i)
    t.same(mutual.seen, [])
    t.match(
      (await send(`${gateway.managementUrl}/metrics`)).text,
      /scopegate_upstream_errors_total\{upstream="api",reason="(?:tls|reset)"\} 1/,
    )
  },
)

t.test('a certificate without its key changes nothing, and the complete pair takes effect', async (t) => {
  const under = await start(t, clientCertificate('gateway-1'))
  const { gateway, mutual, certFile, keyFile } = under
  const next = clientCertificate('gateway-2')
  const last = async (): Promise<string | undefined> => {
    t.equal((await send(`${gateway.url}/pub/x`)).status, 200)
    return mutual.seen.at(-1)?.[1]
  }
  t.equal(await last(), 'gateway-1')

  writeFileSync(certFile, next.cert)
  const unusable = await until('the mismatch is noticed', async () =>
    under.log().find(({ event }) => event === 'tls_certificate_unusable'),
  )
  t.match(unusable, { upstream: 'api', file: keyFile, reason: 'the key does not match the certificate' })
  t.notMatch(under.logText(), 'PRIVATE KEY')
  mutual.closeConnections()
  t.equal(await last(), 'gateway-1', 'new connections use the earlier certificate')
  const ready = await send(`${gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200)
  t.match(
    ready.text,
    /\[!\] client certificate for upstream api: keyFile: the key does not match the certificate: the earlier certificate stays/,
  )

  writeFileSync(keyFile, next.key)
  await until('the new certificate is in use', async () => (await last()) === 'gateway-2')
  t.notMatch((await send(`${gateway.managementUrl}/readyz?verbose`)).text, 'client certificate')
  const metrics = (await send(`${gateway.managementUrl}/metrics`)).text
  for (const result of ['success', 'failure'])
    t.match(metrics, `scopegate_upstream_certificate_reloads_total{upstream="api",result="${result}"} 1`)
})

t.test('a vanished file keeps the last client certificate', async (t) => {
  const under = await start(t, clientCertificate('gateway-1'))
  const { gateway, mutual, keyFile } = under
  rmSync(keyFile)
  const unusable = await until('the loss is noticed', async () =>
    under.log().find(({ event }) => event === 'tls_certificate_unusable'),
  )
  t.match(unusable, { upstream: 'api', file: keyFile, reason: 'the file cannot be read (ENOENT)' })
  mutual.closeConnections()
  t.equal((await send(`${gateway.url}/pub/x`)).status, 200)
  t.equal(mutual.seen.at(-1)?.[1], 'gateway-1')
})
