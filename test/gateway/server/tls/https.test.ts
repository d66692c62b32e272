import { once } from 'node:events'
import t from 'tap'
import { Agent as UndiciAgent, WebSocket } from 'undici'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import { failDuringResponse } from '../../../fixtures/partial-response.ts'
import { until } from '../../../fixtures/until.ts'
import { startWebsocketUpstream } from '../../../fixtures/websocket-upstream.ts'

t.test(
  'the gateway forwards requests as without TLS, and sends the https scheme to the upstream',
  async (t) => {
    const under = await startTlsGateway(t)
    t.match(under.gateway.url, /^https:/)
    t.equal(await under.get('/pub/x'), 200)
    t.same(under.upstream.seen('x-forwarded-proto'), ['https'])
    t.equal(await under.get('/pub/x', { headers: { 'x-forwarded-proto': 'http' } }), 200)
    t.same(under.upstream.seen('x-forwarded-proto'), ['https'])
  },
)

t.test('the framing rules of a connection apply inside TLS', async (t) => {
  const under = await startTlsGateway(t)
  for (const [bytes, status] of [
    ['GET /pub/x HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n', 400],
    [
      'POST /pub/x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 400],
    [`GET /pub/x HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    const socket = await under.shake()
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString()
    })
    socket.write(bytes)
    await once(socket, 'close')
    t.match(received, new RegExp(`^HTTP/1\\.1 ${status} `), bytes.slice(0, 40))
  }
  t.equal(under.upstream.requests.length, 0)
})

t.test('an incomplete response to an HTTP/1.0 client does not end with close_notify', async (t) => {
  const under = await startTlsGateway(t)
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { outcome, received } = await failDuringResponse(under, await under.shake({ maxVersion }))
    t.equal(outcome, 'ECONNRESET', maxVersion)
    t.match(received, /half$/)
  }
})

t.test('a WebSocket works over TLS', async (t) => {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const under = await startTlsGateway(t, {
    policy: `apiVersion: scopegate/v1
kind: Policy
name: live
upstream: api
routes:
  - { name: open, match: { methods: [GET], path: /live }, websocket: true }
`,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [live.url] } : one)),
    }),
  })
  const dispatcher = new UndiciAgent({ connect: { ca: under.authority.cert } })
  t.teardown(() => dispatcher.destroy())
  const socket = new WebSocket(`${under.gateway.url.replace('https', 'wss')}/live`, { dispatcher })
  const echoed = new Promise((resolve) => socket.addEventListener('message', (event) => resolve(event.data)))
  socket.addEventListener('open', () => socket.send('over TLS'))
  t.equal(await echoed, 'over TLS')
  socket.close(1000)
  await until('the session is over', async () => live.closes.length === 1)
  t.same(live.closes, [1000])
})

t.test('new handshakes use a new certificate, and no request fails and no connection is lost', async (t) => {
  const under = await startTlsGateway(t)
  const fingerprintOf = async () => {
    const socket = await under.shake()
    const { fingerprint256 } = socket.getPeerCertificate()
    socket.destroy()
    return fingerprint256
  }
  const old = await under.shake()
  const before = await fingerprintOf()
  let running = true
  const statuses: number[] = []
  const failed: unknown[] = []
  const load = Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      while (running)
        await under
          .get('/pub/x', at % 2 === 0 ? {} : { agent: false })
          .then((status) => statuses.push(status))
          .catch((error) => failed.push(error))
    }),
  )
  under.secret.swap(aCertificate({ by: under.authority }))
  await until('the new certificate is active', async () => (await fingerprintOf()) !== before, 20_000)
  const sofar = statuses.length
  await until('the gateway continues to serve', async () => statuses.length > sofar + 50)
  running = false
  await load
  t.same(failed, [])
  t.ok(
    statuses.every((status) => status === 200),
    `${statuses.length} requests`,
  )
  let received = ''
  old.on('data', (chunk) => {
    received += chunk.toString()
  })
  old.write('GET /pub/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  await once(old, 'close')
  t.match(received, /^HTTP\/1\.1 200 /, 'an existing connection continues')
  t.match(await under.metrics(), /^scopegate_tls_certificate_reloads_total\{result="success"\} 1$/m)
})

t.test('a TLS session of the previous certificate is not resumed', async (t) => {
  const under = await startTlsGateway(t)
  const first = await under.shake({ maxVersion: 'TLSv1.2' })
  const session = first.getSession()
  const again = await under.shake({ maxVersion: 'TLSv1.2', session })
  t.ok(again.isSessionReused(), 'with the same certificate it is resumed')
  const before = first.getPeerCertificate().fingerprint256
  under.secret.swap(aCertificate({ by: under.authority }))
  await until(
    'the new certificate is active',
    async () => (await under.shake()).getPeerCertificate().fingerprint256 !== before,
    20_000,
  )
  t.notOk((await under.shake({ maxVersion: 'TLSv1.2', session })).isSessionReused())
})

t.test('the expiry of the certificate is a metric', async (t) => {
  const under = await startTlsGateway(t)
  const socket = await under.shake()
  const expiresAt = Date.parse(socket.getPeerCertificate().valid_to) / 1_000
  t.match(await under.metrics(), new RegExp(`^scopegate_tls_certificate_expiry_seconds ${expiresAt}$`, 'm'))
})

t.test(
  'shutdown completes requests in progress and does not wait for idle connections or handshakes',
  async (t) => {
    const under = await startTlsGateway(t)
    let release: () => void = () => undefined
    const arrived = new Promise<void>((resolve) =>
      under.upstream.reply((socket) => {
        release = () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        resolve()
      }),
    )
    const answer = under.get('/pub/x')
    await arrived
    const idle = await under.shake()
    const half = under.plain()
    await once(half, 'connect')
    const closing = under.gateway.close()
    release()
    t.equal(await answer, 200)
    const startedMs = performance.now()
    await closing
    t.ok(performance.now() - startedMs < 8_000, 'well before the handshake timeout')
    if (!half.closed) await once(half, 'close')
    if (!idle.closed) await once(idle, 'close')
  },
)
