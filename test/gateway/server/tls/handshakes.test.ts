import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { startTlsGateway, type TlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import { until } from '../../../fixtures/until.ts'

async function aClientHello(t: Test, under: TlsGateway): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  void under.shake({ port }).catch(() => undefined)
  const [socket] = await once(server, 'connection')
  const [hello] = await once(socket, 'data')
  socket.destroy()
  return hello
}

async function whenClosed(socket: Socket): Promise<string> {
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  if (!socket.closed) await once(socket, 'close')
  return received
}

const failures = async (under: TlsGateway, reason: string): Promise<number> =>
  Number(
    new RegExp(`^scopegate_tls_handshake_failures_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
      await under.metrics(),
    )?.[1] ?? 0,
  )

t.test('plain HTTP on the TLS port gets no response and never reaches an upstream', async (t) => {
  const under = await startTlsGateway(t)
  const received = await under.raw('GET /pub/x HTTP/1.1\r\nhost: api.test\r\n\r\n')
  t.notMatch(received, /HTTP\//)
  t.equal(under.upstream.requests.length, 0)
  await until('the failure is counted', async () => (await failures(under, 'plain_http')) === 1)
  t.equal(await under.get('/pub/x'), 200)
})

t.test(
  'the server continues to work after invalid and incomplete handshakes, and after clients that leave',
  async (t) => {
    const under = await startTlsGateway(t)
    const hello = await aClientHello(t, under)
    const starts: readonly Buffer[] = [
      ...Array.from({ length: 60 }, () => randomBytes(200)),
      ...Array.from({ length: 60 }, (_, at) => {
        // A valid ClientHello with one changed byte.
        const changed = Buffer.from(hello)
        const place = Math.floor((at / 60) * changed.length)
        changed[place] = (changed[place] ?? 0) ^ 0xff
        return changed
      }),
      Buffer.from([0x16, 0x03, 0x01, 0xff, 0xff, 0x01]),
      Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
      Buffer.from('\x80\x2e\x01\x00\x02', 'latin1'), // a ClientHello of SSL 2
    ]
    const lingering: Socket[] = []
    const ends = starts.map(async (bytes, at) => {
      const socket = under.plain()
      socket.write(bytes)
      if (at % 3 === 0) socket.end()
      else if (at % 3 === 1) socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()))
      else {
        lingering.push(socket)
        return
      }
      await whenClosed(socket)
    })
    const cut = Array.from({ length: 60 }, async (_, at) => {
      const socket = under.plain()
      socket.write(hello.subarray(0, Math.ceil(((at + 1) / 60) * hello.length)))
      await once(socket, 'connect')
      if (at % 2 === 0) socket.resetAndDestroy()
      else socket.end()
      await whenClosed(socket)
    })
    await Promise.all([...ends, ...cut])
    // Closes the connections that stayed open during all other handshakes.
    for (const socket of lingering) socket.destroy()
    t.equal(await under.get('/pub/x'), 200)
    t.notMatch(under.logText(), /uncaught|"level":"error"/)
    await until('aborted handshakes are counted', async () => (await failures(under, 'aborted')) > 0)
  },
)

t.test(
  'the gateway closes slow and stalled handshakes, and clients that send nothing after a handshake',
  async (t) => {
    const under = await startTlsGateway(t)
    const hello = await aClientHello(t, under)
    const silent = under.plain()
    const half = under.plain()
    half.write(hello.subarray(0, 50))
    const dripping = under.plain()
    const drips = setInterval(
      () => dripping.write(hello.subarray(dripping.bytesWritten, dripping.bytesWritten + 1)),
      250,
    )
    t.teardown(() => clearInterval(drips))
    const shaken = await under.shake()
    const done = Promise.all([silent, half, dripping, shaken].map(whenClosed))
    for (let time = 0; time < 5; time++)
      t.equal(await under.get('/pub/x'), 200, 'other clients are served in the meantime')
    await done
    await until('the failures are counted', async () => (await failures(under, 'timeout')) === 3)
  },
)

t.test('the connection limit counts connections before their TLS handshake', async (t) => {
  const under = await startTlsGateway(t, {
    change: (config) => ({ ...config, limits: { ...config.limits, connections: 5 } }),
  })
  const held = Array.from({ length: 5 }, () => under.plain())
  await Promise.all(held.map((socket) => once(socket, 'connect')))
  await whenClosed(under.plain())
  t.match(await under.metrics(), /^scopegate_connections_refused_total 1$/m)
  for (const socket of held) socket.destroy()
  await until('there is room again', () =>
    under.get('/pub/x', { agent: false }).then(
      (status) => status === 200,
      () => false,
    ),
  )
})

const REJECTED: readonly [what: string, options: ConnectionOptions, code: RegExp][] = [
  [
    'TLS 1.0',
    { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' },
    /PROTOCOL_VERSION/,
  ],
  [
    'TLS 1.1',
    { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    /PROTOCOL_VERSION/,
  ],
  [
    'CBC',
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA' },
    /HANDSHAKE_FAILURE/,
  ],
  ['no forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }, /HANDSHAKE_FAILURE/],
  ['no encryption', { maxVersion: 'TLSv1.2', ciphers: 'NULL-SHA256:@SECLEVEL=0' }, /HANDSHAKE_FAILURE/],
  ['HTTP/2 and nothing else', { ALPNProtocols: ['h2'] }, /NO_APPLICATION_PROTOCOL/],
]

t.test('obsolete and weak protocols are rejected with a specific alert', async (t) => {
  const under = await startTlsGateway(t)
  for (const [what, options, code] of REJECTED)
    await t.rejects(under.shake({ ...options, agent: false } as ConnectionOptions), { code }, what)
  await until('the failures are counted', async () => (await failures(under, 'version')) >= 2)
  await until('the protocol failure is counted', async () => (await failures(under, 'protocol')) === 1)
  for (const options of [{ maxVersion: 'TLSv1.2' }, { minVersion: 'TLSv1.3' }] as const)
    t.match((await under.shake(options)).getProtocol(), options.maxVersion ?? options.minVersion)
})

t.test('minVersion: TLSv1.3 rejects TLS 1.2', async (t) => {
  const under = await startTlsGateway(t, { minVersion: 'TLSv1.3' })
  await t.rejects(under.shake({ maxVersion: 'TLSv1.2' }), { code: /PROTOCOL_VERSION/ })
  t.equal((await under.shake()).getProtocol(), 'TLSv1.3')
})

t.test('ALPN offers only HTTP/1.1', async (t) => {
  const under = await startTlsGateway(t)
  t.equal((await under.shake({ ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol, 'http/1.1')
  t.equal((await under.shake()).alpnProtocol, false, 'a client may omit ALPN')
})

t.test('a client cannot renegotiate repeatedly on one connection', async (t) => {
  const under = await startTlsGateway(t)
  const socket = await under.shake({ maxVersion: 'TLSv1.2' })
  const outcomes: unknown[] = []
  socket.renegotiate({}, (error) => outcomes.push(error))
  socket.write('GET /pub/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  await t.rejects(whenClosed(socket), { message: /no renegotiation/ })
  t.notOk(outcomes.includes(null))
  t.equal(await under.get('/pub/x'), 200)
})
