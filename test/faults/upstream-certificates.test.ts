import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t, { type Test } from 'tap'
import { aCertificate, type TestCertificate } from '../fixtures/a-certificate.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'

/** A gateway whose upstream speaks TLS with this certificate. */
async function startBefore(t: Test, certificate: TestCertificate) {
  let served = 0
  const upstream = createServer({ key: certificate.key, cert: certificate.cert }, (_request, response) => {
    served += 1
    response.end('ok')
  })
  upstream.on('tlsClientError', () => undefined)
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  t.teardown(() => void upstream.close().closeAllConnections())
  const url = `https://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [url] } : one)),
    }),
  })
  return { ...under, served: () => served }
}

async function refused(t: Test, { gateway, served }: Awaited<ReturnType<typeof startBefore>>): Promise<void> {
  const response = await fetch(`${gateway.url}/pub/x`)
  t.equal(response.status, 502)
  t.match(await response.json(), { error: 'upstream_unavailable' })
  t.equal(served(), 0, 'it has seen no request')
  const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /^scopegate_upstream_errors_total\{upstream="api",reason="tls"\} 1$/m)
}

t.test('an upstream whose certificate nobody vouches for gets no request', async (t) => {
  await refused(t, await startBefore(t, aCertificate({ names: ['127.0.0.1'] })))
})

t.test('nor does one whose certificate is for another name, whoever vouches for it', async (t) => {
  const certificate = aCertificate({ names: ['elsewhere.test'] })
  trust(t, certificate)
  await refused(t, await startBefore(t, certificate))
})

t.test('one with a certificate for its address, by somebody who is trusted, does', async (t) => {
  const certificate = aCertificate({ names: ['127.0.0.1'] })
  trust(t, certificate)
  const { gateway } = await startBefore(t, certificate)
  t.equal(await (await fetch(`${gateway.url}/pub/x`)).text(), 'ok')
})

/** As NODE_EXTRA_CA_CERTS does for a process. */
function trust(t: Test, { cert }: TestCertificate): void {
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, cert])
  t.teardown(() => setDefaultCACertificates(before))
}
