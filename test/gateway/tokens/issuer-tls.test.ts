import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createIntrospector } from '../../../gateway/tokens/introspection/introspect.ts'
import { createDocumentFetcher } from '../../../gateway/tokens/jwt/fetch-document.ts'
import { subscribeToRevocations } from '../../../gateway/tokens/revocation/revocations.ts'
import { aCertificate, type TestCertificate } from '../../fixtures/a-certificate.ts'
import { introspectionOptions } from '../../fixtures/introspection-options.ts'

const authority = aCertificate({ authority: true })
const CLIENT = { clientId: 'gateway', clientSecret: 'the secret of a test' }

async function startIssuer(t: Test, { cert, key }: TestCertificate) {
  const asked: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume()
    if (request.url === '/revocations') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ready\ndata: {}\n\n')
      return
    }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ active: false, keys: [] }))
  })
  server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/**
 * Sends one request to the issuer.
 * @throws the error of the request. Its chain of causes contains the reason.
 */
type Ask = (t: Test, url: string, ca: string | undefined) => Promise<unknown>

const ASKS: Readonly<Record<string, Ask>> = {
  async introspection(t, url, ca) {
    const introspector = createIntrospector(
      introspectionOptions({ ...CLIENT, issuer: url, endpoint: `${url}/introspect`, ca }),
    )
    t.teardown(() => introspector.close())
    return introspector.introspect('a-token')
  },
  async keys(t, url, ca) {
    const fetcher = createDocumentFetcher({ ca })
    t.teardown(() => fetcher.close())
    return fetcher.fetchDocument(`${url}/keys`, { limitBytes: 1_000, timeoutMs: 20_000 })
  },
  revocations(t, url, ca) {
    return new Promise((resolve, reject) => {
      const write = (line: Buffer) => {
        const { event, reason } = JSON.parse(line.toString())
        if (event === 'revocations_lost') reject(new Error(reason))
      }
      const subscription = subscribeToRevocations({
        nowSeconds: () => Date.now() / 1_000,
        ...CLIENT,
        url: `${url}/revocations`,
        onRevoked: () => undefined,
        onGap: () => resolve('connected'),
        logger: pino(
          new Writable({
            write: (line, _encoding, done) => {
              write(line)
              done()
            },
          }),
        ),
        random: Math.random,
        tickMs: () => performance.now(),
        ca,
      })
      t.teardown(() => subscription.close())
    })
  },
}

const UNTRUSTED: readonly (readonly [what: string, certificate: TestCertificate, ca: string | undefined])[] =
  [
    ['that is self-signed', aCertificate(), undefined],
    ['of a CA that is not configured', aCertificate({ by: authority }), undefined],
    ['of another CA than the configured one', aCertificate(), authority.cert],
    ['for another name', aCertificate({ by: authority, names: ['issuer.test'] }), authority.cert],
  ]

for (const [name, ask] of Object.entries(ASKS)) {
  for (const [what, certificate, ca] of UNTRUSTED)
    t.test(
      `${name}: an issuer with a certificate ${what} gets no request, whatever environment variables are set`,
      async (t) => {
        process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
        t.teardown(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'])
        const issuer = await startIssuer(t, certificate)
        await t.rejects(ask(t, issuer.url, ca))
        t.same(issuer.asked, [])
      },
    )

  t.test(`${name}: the CA certificate of an issuer verifies that issuer`, async (t) => {
    const issuer = await startIssuer(t, aCertificate({ by: authority }))
    await t.resolves(ask(t, issuer.url, authority.cert))
    t.equal(issuer.asked.length, 1)
  })
}
