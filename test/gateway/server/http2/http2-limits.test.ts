import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Stream, constants } from 'node:http2'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createHttp2Listener } from '../../../../gateway/server/http2/http2-listener.ts'
import type { TlsOptions } from '../../../../gateway/server/tls/tls-server.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { POLICY } from '../../../fixtures/a-gateway.ts'
import { startTlsGateway, type TlsGateway } from '../../../fixtures/a-tls-gateway.ts'
import { type Http2Client, openHttp2Client } from '../../../fixtures/http2-client.ts'
import {
  END_STREAM,
  FRAME,
  type FrameClient,
  frame,
  headerBlock,
  headersFrame,
  numberFrame,
  openFrameClient,
  PREFACE,
  pseudoHeaders,
  settingsFrame,
} from '../../../fixtures/http2-frames.ts'
import { OK_REPLY } from '../../../fixtures/recording-upstream.ts'
import { until } from '../../../fixtures/until.ts'

const INITIAL_WINDOW_SIZE = 4
const MAX_WINDOW = 2 ** 31 - 1

const PING = frame(FRAME.PING, 0, 0, Buffer.alloc(8))

/** Sends frames until the gateway resets the connection. */
async function whenReset({ socket, write }: FrameClient): Promise<void> {
  await until('the gateway resets the connection', async () => {
    write(PING)
    return socket.destroyed
  })
}

/** Starts a gateway whose clock for the time limits of HTTP/2 advances only with `advance`. */
async function startWithClock(t: Test) {
  let nowMs = performance.now()
  const under = await startTlsGateway(t, { http2: true, gateway: { tickMs: () => nowMs } })
  return {
    under,
    advance(ms: number): void {
      nowMs += ms
    },
  }
}

/** Returns whether the gateway has announced the end of the connection. */
const isAnnounced = ({ frames }: FrameClient): boolean => frames.some(({ type }) => type === FRAME.GOAWAY)

/** Opens streams whose responses the upstream holds. */
async function holdStreams(under: TlsGateway, client: Http2Client, count: number) {
  const sockets: Socket[] = []
  under.upstream.reply((socket, { target }) => {
    if (target === '/pub/held') sockets.push(socket)
    else socket.write(OK_REPLY)
  })
  const streams: ClientHttp2Stream[] = Array.from({ length: count }, () =>
    client.open({ ':path': '/pub/held' }),
  )
  await until('the upstream has the requests', async () => sockets.length === count)
  return { streams, sockets }
}

t.test(
  'a client that reads no part of a response loses the stream, and keeps its other streams',
  async (t) => {
    const under = await startTlsGateway(t, {
      http2: true,
      policy: `${POLICY}  - { name: stalling, match: { methods: [GET], path: /api/stalling }, idleTimeout: 1s }\n`,
    })
    const aborted = Promise.withResolvers<void>()
    under.upstream.reply((socket, { target }) => {
      if (target !== '/api/stalling') {
        socket.write(OK_REPLY)
        return
      }
      socket.once('close', () => aborted.resolve())
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 8000000\r\n\r\n${'x'.repeat(4_000_000)}`)
    })
    const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, 0]])
    client.write(headersFrame(1, pseudoHeaders('/api/stalling')))
    const reset = client.receive(FRAME.RST_STREAM, 1)
    // Other streams of the connection make progress: their responses have headers, but no body.
    for (let id = 3; !client.frames.some(({ type }) => type === FRAME.RST_STREAM); id += 2) {
      client.write(headersFrame(id, pseudoHeaders('/pub/x', 'HEAD')))
      await client.receive(FRAME.HEADERS, id)
    }
    t.equal((await reset).payload.readUInt32BE(), constants.NGHTTP2_CANCEL)
    await aborted.promise
    t.equal(client.socket.destroyed, false)
  },
)

t.test('the gateway refuses streams above the limit of connections', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({ ...config, limits: { ...config.limits, connections: 3 } }),
  })
  const [one, two] = [await openHttp2Client(t, under), await openHttp2Client(t, under)]
  const { streams, sockets } = await holdStreams(under, one, 3)
  const refused = await two.request('/pub/x')
  t.match([refused.status, refused.code], [0, constants.NGHTTP2_REFUSED_STREAM])
  sockets[0]?.write(OK_REPLY)
  await new Promise((resolve) => streams[0]?.resume().once('close', resolve))
  await until('there is room again', async () => (await two.request('/pub/x')).status === 200)
})

t.test('a stream that the client resets with NO_ERROR ends, and counts no longer', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({ ...config, limits: { ...config.limits, connections: 2 } }),
  })
  under.upstream.reply((socket, { target }) => {
    if (target === '/pub/x') socket.write(OK_REPLY)
    else socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${target.slice(5)}\r\n\r\n${'x'.repeat(30_000)}`)
  })
  const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, 1_000]])
  // The gateway has the complete response of the first stream, and a part of the response of the second stream.
  for (const [id, path] of [
    [1, '/pub/30000'],
    [3, '/pub/8000000'],
  ] as const) {
    client.write(headersFrame(id, pseudoHeaders(path)))
    await client.receive(FRAME.DATA, id)
    client.write(numberFrame(FRAME.RST_STREAM, id, constants.NGHTTP2_NO_ERROR))
  }
  const other = await openHttp2Client(t, under)
  await until('there is room again', async () => (await other.request('/pub/x')).status === 200)
  await until('the log has both streams', async () => {
    const closed = under.log().filter((line) => line['error.type'] === 'client_closed')
    return closed.length === 2
  })
  t.equal(client.socket.destroyed, false)
})

t.test('a rejected head counts no longer if the client does not read the response', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({ ...config, limits: { ...config.limits, connections: 2, headersBytes: 1_000 } }),
  })
  const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, 0]])
  const pairs = [...pseudoHeaders('/pub/x'), ['x-large', 'x'.repeat(1_200)] as const]
  for (const [id, flags] of [
    [1, END_STREAM],
    [3, 0],
  ] as const) {
    client.write(headersFrame(id, pairs, flags))
    await client.receive(FRAME.HEADERS, id)
  }
  const other = await openHttp2Client(t, under)
  await until('there is room again', async () => (await other.request('/pub/x')).status === 200)
  t.equal(client.socket.destroyed, false)
})

t.test('a request that the client resets in the same packet never starts', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openFrameClient(under)
  client.write(headersFrame(1, pseudoHeaders('/pub/first')))
  await client.receive(FRAME.HEADERS, 1)
  const pairs = Array.from({ length: 20 }, (_, at) => [
    headersFrame(2 * at + 3, pseudoHeaders('/pub/reset')),
    numberFrame(FRAME.RST_STREAM, 2 * at + 3, constants.NGHTTP2_CANCEL),
  ])
  client.write(...pairs.flat(), headersFrame(99, pseudoHeaders('/pub/last')))
  await client.receive(FRAME.HEADERS, 99)
  const paths = (): unknown[] => under.log().flatMap((line) => line['url.path'] ?? [])
  await until('the log has the last request', async () => paths().includes('/pub/last'))
  t.same(paths(), ['/pub/first', '/pub/last'])
})

t.test('the gateway counts the connections that it closes because of their frames', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const count = async (reason: string): Promise<boolean> =>
    (await under.metrics()).includes(`scopegate_http2_connection_failures_total{reason="${reason}"} 1\n`)
  const [invalid, flooding] = [await openFrameClient(under), await openFrameClient(under)]
  invalid.write(frame(FRAME.DATA, 0, 1))
  await until('the protocol error is counted', () => count('protocol'))
  flooding.write(...Array.from({ length: 700 }, () => PING))
  await until('the flood is counted', () => count('flood'))
  const { payload } = await flooding.receive(FRAME.GOAWAY, 0)
  t.equal(payload.readUInt32BE(4), constants.NGHTTP2_ENHANCE_YOUR_CALM)
  t.ok(await count('protocol'))
  const reset = await openHttp2Client(t, under)
  reset.session.destroy()
  t.equal(await under.get('/pub/x'), 200)
})

t.test('a connection has at most 100 concurrent streams', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const client = await openHttp2Client(t, under)
  t.equal(client.session.remoteSettings.maxConcurrentStreams, 100)
})

t.test('the gateway closes a connection without a complete request head after 10 s', async (t) => {
  const { under, advance } = await startWithClock(t)
  const [empty, partial, pinging] = await Promise.all([1, 2, 3].map(() => openFrameClient(under)))
  partial?.write(frame(FRAME.HEADERS, 0, 1, headerBlock(pseudoHeaders('/pub/x'))))
  pinging?.write(PING)
  await Promise.all([partial, pinging].map((one) => one?.receive(FRAME.SETTINGS, 0)))
  await pinging?.receive(FRAME.PING, 0)
  const client = await openHttp2Client(t, under)
  t.equal((await client.request('/pub/x')).status, 200)
  advance(5_000)
  const late = await openFrameClient(under)
  await late.receive(FRAME.SETTINGS, 0)
  const closed = Promise.all([empty, partial, pinging].map((one) => one && once(one.socket, 'close')))
  advance(5_500)
  await partial?.receive(FRAME.GOAWAY, 0)
  // Node waits for the rest of the head.
  advance(2_500)
  await closed
  t.equal(isAnnounced(late), false, 'a later connection has time left')
  t.equal((await client.request('/pub/x')).status, 200, 'a connection with a request stays open')
})

t.test('the gateway closes a connection that is idle for 72 s', async (t) => {
  const { under, advance } = await startWithClock(t)
  const [early, late] = [await openFrameClient(under), await openFrameClient(under)]
  const ask = async (client: FrameClient, id: number) => {
    client.write(headersFrame(id, pseudoHeaders('/pub/x', 'HEAD')))
    await client.receive(FRAME.HEADERS, id)
  }
  await ask(early, 1)
  await ask(late, 1)
  advance(10_000)
  await ask(late, 3)
  const closed = once(early.socket, 'close')
  advance(62_500)
  const end = await early.receive(FRAME.GOAWAY, 0)
  t.equal(end.payload.readUInt32BE(4), constants.NGHTTP2_NO_ERROR)
  t.equal(isAnnounced(late), false, 'a connection with a later request stays open')
  await closed
})

t.test('the gateway closes a connection whose client does not close its side', async (t) => {
  const { under, advance } = await startWithClock(t)
  const halfOpen = { allowHalfOpen: true } // an option of node:tls that its types lack
  const client = await openFrameClient({ shake: (options) => under.shake({ ...options, ...halfOpen }) })
  await client.receive(FRAME.SETTINGS, 0)
  const ended = once(client.socket, 'end')
  advance(10_500)
  await ended
  advance(2_500)
  await whenReset(client)
})

t.test('the gateway closes a connection whose client reads nothing', async (t) => {
  const { under, advance } = await startWithClock(t)
  const held = Promise.withResolvers<Socket>()
  let sentParts = 0
  under.upstream.reply((socket, { target }) => {
    if (target === '/pub/held') {
      held.resolve(socket)
      return
    }
    const sendPart = (): void =>
      void socket.write(Buffer.alloc(65_536), (error) => {
        sentParts += 1
        if (error === null || error === undefined) sendPart()
      })
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    sendPart()
  })
  const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, MAX_WINDOW]])
  client.write(
    numberFrame(FRAME.WINDOW_UPDATE, 0, MAX_WINDOW - 65_535),
    headersFrame(1, pseudoHeaders('/pub/held', 'HEAD')),
    headersFrame(3, pseudoHeaders('/pub/large')),
  )
  await client.receive(FRAME.DATA, 3)
  client.socket.pause()
  let parts = 0
  let unchangedPolls = 0
  await until('the gateway takes no further part', async () => {
    unchangedPolls = sentParts === parts ? unchangedPolls + 1 : 0
    parts = sentParts
    return parts > 0 && unchangedPolls > 10
  })
  const upstream = await held.promise
  upstream.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  await until('the gateway resets the connection', async () => {
    advance(1_000)
    client.write(PING)
    return client.socket.destroyed
  })
})

t.test('the gateway closes a connection whose client does not read the last frames', async () => {
  let nowMs = 0
  let isFlooded = false
  const onHttp2Failure = (): void => {
    isFlooded = true
  }
  const listener = createHttp2Listener({
    headersLimitBytes: 16_384,
    connectionsLimit: 10,
    handle: () => undefined,
    newRequestId: () => 'id',
    onUnparsed: () => undefined,
    tls: { onHttp2Failure } as unknown as TlsOptions,
    tickMs: () => nowMs,
  })
  // The buffers of a real connection have room for these frames.
  const socket = new Duplex({
    read: () => undefined,
    write(_chunk, _encoding, done) {
      if (!isFlooded) done()
    },
  })
  listener.accept(socket as TLSSocket)
  socket.push(Buffer.concat([PREFACE, settingsFrame([]), ...Array.from({ length: 700 }, () => PING)]))
  await until('the gateway has closed the session', async () => isFlooded)
  nowMs += 2_500
  await until('the gateway closes the connection', async () => socket.destroyed)
})

t.test('a request body can take 60 s', async (t) => {
  const { under, advance } = await startWithClock(t)
  const [early, late] = [await openHttp2Client(t, under), await openHttp2Client(t, under)]
  const post = (client: Http2Client) => client.open({ ':path': '/pub/x', ':method': 'POST' }, false)
  const [first, second] = [post(early), post(late)]
  const ping = (client: Http2Client) => new Promise((resolve) => client.session.ping(resolve))
  await Promise.all([ping(early), ping(late)])
  advance(30_000)
  const third = post(late)
  await ping(late)
  const answered = Promise.all([first, second].map((one) => text(one)))
  advance(30_500)
  // The pipeline has a limit of its own, with another description.
  for (const body of await answered) t.match(body, /The request did not arrive in time/)
  third.end('text')
  t.equal((await once(third, 'response'))[0][':status'], 200, 'a later request has time left')
})

t.test('a client can take 60 s to read a part of a response of the gateway itself', async (t) => {
  const { under, advance } = await startWithClock(t)
  const client = await openFrameClient(under, [[INITIAL_WINDOW_SIZE, 0]])
  const ask = async (id: number) => {
    client.write(headersFrame(id, pseudoHeaders('/openapi.json')))
    await client.receive(FRAME.HEADERS, id)
  }
  await ask(1)
  advance(30_000)
  await ask(3)
  advance(30_500)
  t.equal((await client.receive(FRAME.RST_STREAM, 1)).payload.readUInt32BE(), constants.NGHTTP2_CANCEL)
  client.write(numberFrame(FRAME.WINDOW_UPDATE, 3, 1_000_000))
  await client.receive(FRAME.DATA, 3)
  t.notOk(
    client.frames.some(({ type, streamId }) => type === FRAME.RST_STREAM && streamId === 3),
    'a later response has time left',
  )
})

t.test('under overload, each response asks the client to leave its connection', async (t) => {
  const calm = { heap: 0.1, memory: 0, loop: 0, longestDelayMs: 0 }
  let pressure = calm
  const under = await startTlsGateway(t, { http2: true, gateway: { readPressure: () => pressure } })
  const client = await openHttp2Client(t, under)
  t.equal((await client.request('/pub/x')).status, 200)
  pressure = { ...calm, memory: 0.86 }
  await until('overload', async () => /^scopegate_overload_level 1$/m.test(await under.metrics()))
  const announced = once(client.session, 'goaway')
  t.equal((await client.request('/pub/x')).status, 200)
  const [code, lastStream] = await announced
  t.same([code, lastStream], [constants.NGHTTP2_NO_ERROR, 3])
  pressure = calm
})

t.test('a client certificate applies to all streams of its connection', async (t) => {
  const under = await startTlsGateway(t, {
    http2: true,
    change: (config) => ({
      ...config,
      tls: config.tls && { ...config.tls, clientCertificates: { ca: undefined } },
    }),
  })
  const own = aCertificate()
  const thumbprint = hash('sha256', new X509Certificate(own.cert).raw, 'base64url')
  under.issuer.store('bound', {
    scope: 'courses:read',
    aud: 'https://127.0.0.1',
    cnf: { 'x5t#S256': thumbprint },
  })
  const holder = await openHttp2Client(t, under, { cert: own.cert, key: own.key })
  const thief = await openHttp2Client(t, under)
  for (let time = 0; time < 2; time += 1) {
    t.equal((await holder.request('/api/courses', { token: 'bound' })).status, 200)
    t.equal((await thief.request('/api/courses', { token: 'bound' })).status, 401)
  }
})
