import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { BASE_URL, type GatewayUnderTest, pushing, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { until } from '../fixtures/until.ts'
import { startWebsocketUpstream, type WebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: live
upstream: live
defaults: { anonymous: allow, timeout: 20s, upstreamAuth: assertion }
routes:
  - { name: open, match: { methods: [GET], path: /live/open }, websocket: true }
  - { name: scoped, match: { methods: [GET], path: /live/scoped }, websocket: true, anonymous: challenge, scopes: { all: [courses:read] } }
  - { name: small, match: { methods: [GET], path: /live/small }, websocket: true, bodyLimit: 1KiB }
  - { name: mine, match: { methods: [GET], path: /live/mine }, websocket: true, anonymous: deny, when: [{ claim: school, equals: "{query.school}" }] }
  - { name: plain, match: { methods: [GET], path: /live/plain } }
  - { name: impatient, match: { methods: [GET], path: /live/impatient }, websocket: true, timeout: 300ms }
`

t.jobs = 4 // each test starts its own gateway and needs little CPU time

type Under = GatewayUnderTest & { readonly live: WebsocketUpstream }

async function start(
  t: Test,
  limits: { readonly maxSessions?: number; readonly maxSessionsPerCaller?: number } = {},
  how: {
    readonly pushes?: boolean
    readonly staleIfErrorMs?: number
    readonly maxTtlMs?: number
    readonly ttlWithoutPushMs?: number
  } = {},
): Promise<Under> {
  const { pushes = true, staleIfErrorMs = 60_000, ...ttls } = how
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: [
        ...config.upstreams,
        {
          ...(config.upstreams[0] as (typeof config.upstreams)[number]),
          name: 'live',
          urls: [live.url],
          // On a slow machine, a session can be idle for longer than the default of the tests.
          idleTimeoutMs: 600_000,
        },
      ],
      websockets: { maxSessions: 1_000, maxSessionsPerCaller: 100, ...limits },
      issuers: (pushes ? config.issuers.map(pushing) : config.issuers).map((issuer) => ({
        ...issuer,
        staleIfErrorMs,
      })),
      tokenCache: { ...config.tokenCache, ...ttls },
    }),
  })
  if (pushes) await under.issuer.subscribed()
  return { ...under, live }
}

type Client = {
  readonly socket: WebSocket
  readonly messages: unknown[]
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

async function open(under: Under, path: string, token?: string, protocols?: string[]): Promise<Client> {
  const socket = new WebSocket(`${under.gateway.url.replace('http', 'ws')}${path}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    protocols: protocols ?? [],
  })
  socket.binaryType = 'arraybuffer'
  const messages: unknown[] = []
  socket.addEventListener('message', ({ data }) => messages.push(data))
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.addEventListener('close', ({ code, reason }) => resolve({ code, reason })),
  )
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('the WebSocket did not open')))
  })
  return { socket, messages, closed }
}

/** `headers` are additional header lines. */
function handshake(path: string, headers: readonly string[] = []): string {
  return [
    `GET ${path} HTTP/1.1`,
    'host: api.test',
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
    '\r\n',
  ].join('\r\n')
}

function sessionLines(under: Under) {
  return under.log().filter((line) => 'websocket.close_code' in line)
}

t.test(
  'only an allowed caller gets a WebSocket, and the upstream receives no handshake of other callers',
  async (t) => {
    const under = await start(t)
    under.issuer.store('poor', { scope: 'posts:read' })
    const rejected = {
      'no token': [[], '401'],
      'a bad token': [['authorization: Bearer junk'], '401'],
      'a token without the scope': [['authorization: Bearer poor'], '403'],
    } as const
    for (const [name, [headers, status]] of Object.entries(rejected)) {
      const answer = await under.raw(handshake('/live/scoped', headers))
      t.match(answer, new RegExp(`^HTTP/1.1 ${status} `), name)
      t.match(answer, /\r\nwww-authenticate: Bearer /i, name)
      t.match(answer, /\r\nconnection: close\r\n/i, name)
    }
    t.match(await under.raw(handshake('/live/none')), /^HTTP\/1.1 404 /)
    under.issuer.store('good', { scope: 'courses:read' })
    const hostile: readonly (readonly [status: number, path: string, headers: readonly string[]])[] = [
      [400, '/live/scoped?access_token=good', []],
      [400, '/live/open?access_token=good', []],
      [400, '/live/scoped?%61ccess_token=good', ['authorization: Bearer good']],
      [400, '/live/scoped', ['authorization: Bearer good', 'authorization: Bearer good']],
      [401, '/live/open', ['authorization: Bearer junk']],
      [401, '/live/open', ['authorization: Bearer eyJhbGciOiJub25lIn0.e30.']],
      [401, '/live/open', ['authorization: Basic Z29vZA==']],
      [401, '/live/scoped', ['cookie: access_token=good', 'sec-websocket-protocol: bearer, good']],
      [401, '/live/scoped', ['authorization: DPoP good']],
      [401, '/live/scoped', ['authorization: DPoP good', 'dpop: eyJ.eyJ.x']],
    ]
    for (const [status, path, headers] of hostile)
      t.match(
        await under.raw(handshake(path, headers)),
        new RegExp(`^HTTP/1.1 ${status} `),
        `${path} ${headers}`,
      )
    t.equal(under.live.handshakes.length, 0)
  },
)

t.test('a route without WebSockets forwards a plain request', async (t) => {
  const under = await start(t)
  const answer = await under.raw(handshake('/live/plain'))
  t.match(answer, /^HTTP\/1.1 200 /)
  t.match(answer, /plain$/)
  t.equal(under.live.handshakes.length, 0)
})

t.test(
  'the gateway does not forward bytes that the client sends before the handshake response',
  async (t) => {
    const under = await start(t)
    const smuggled = 'GET /live/plain HTTP/1.1\r\nhost: api.test\r\n\r\n'
    const answer = await under.raw(handshake('/live/open') + smuggled)
    t.match(answer, /^HTTP\/1.1 400 /)
    t.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1)
    t.equal(under.live.handshakes.length, 0)
    t.match(
      await under.raw(handshake('/live/open').replace('dGhlIHNhbXBsZSBub25jZQ==', 'short')),
      /^HTTP\/1.1 400 /,
    )
    const pipelined = await under.raw(
      `GET /live/plain HTTP/1.1\r\nhost: api.test\r\n\r\n${handshake('/live/open')}`,
    )
    t.match(pipelined, /^HTTP\/1.1 200 /)
    t.notMatch(pipelined, ' 101 ')
  },
)

t.test('messages are forwarded in both directions: text and binary, large and empty', async (t) => {
  const under = await start(t)
  under.issuer.store('good', { scope: 'courses:read' })
  const { socket, messages, closed } = await open(under, '/live/scoped', 'good', ['chat', 'other'])
  t.equal(socket.protocol, 'chat')
  const [seen] = under.live.handshakes
  t.match(seen?.headers, { 'x-auth-subject': 'user-1', 'x-auth-assertion': /^ey/, upgrade: 'websocket' })
  t.equal(seen?.headers.authorization, undefined)
  t.equal(seen?.headers['x-forwarded-host'], new URL(BASE_URL).host)
  const large = Buffer.alloc(700_000, 'x')
  for (const message of ['hello', '', 'ü'.repeat(40_000)]) socket.send(message)
  socket.send(large)
  await until('four came back', async () => messages.length === 4)
  t.same(messages.slice(0, 3), ['hello', '', 'ü'.repeat(40_000)])
  t.ok(large.equals(Buffer.from(messages[3] as ArrayBuffer)))
  socket.close(4001, 'done')
  t.same(await closed, { code: 4001, reason: 'done' }, 'the upstream responds with the same code')
  await until('logged', async () => sessionLines(under).length === 1)
  await until('the upstream gets the Close frame', async () => under.live.closes.length === 1)
  t.same(under.live.closes, [4001])
  const [line] = sessionLines(under)
  t.match(line, {
    'http.response.status_code': 101,
    'websocket.close_code': 4001,
    route: 'live/scoped',
    'upstream.status': 101,
    'auth.decision': 'allow',
  })
  t.equal(line?.['error.type'], undefined)
  const metrics = await (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
  t.match(metrics, /scopegate_websocket_sessions 0/)
  t.match(metrics, /scopegate_websocket_sessions_closed_total\{route="live\/scoped",code="4xxx"\} 1/)
  t.match(metrics, /scopegate_http_requests_in_flight 0/)
})

t.test('pings and pongs are forwarded', async (t) => {
  const under = await start(t)
  let pong = ''
  under.live.onSession((socket) => {
    socket.on('pong', (data) => {
      pong = data.toString()
    })
    socket.ping('are you there')
  })
  const { socket } = await open(under, '/live/open')
  await until('pong', async () => pong === 'are you there')
  socket.close()
})

t.test('a token that expires closes both sides of the session with 1008', async (t) => {
  const under = await start(t)
  let tried = 0
  // Repeats with a new token, because on a busy machine a token can expire before its session is used.
  const client = await until('a session is used before its token expires', async () => {
    const token = `short-${++tried}`
    under.issuer.store(token, { scope: 'courses:read', exp: Math.floor(Date.now() / 1_000) + 2 })
    const one = await open(under, '/live/scoped', token).catch(() => undefined)
    if (one === undefined) return undefined
    const echoed = new Promise((resolve) => one.socket.addEventListener('message', resolve))
    one.socket.send('still good')
    await Promise.race([echoed, one.closed])
    return one.messages.length === 1 ? one : undefined
  })
  t.same(await client.closed, { code: 1008, reason: 'token expired' })
  const sessions = under.live.handshakes.length
  await until('the upstream gets the Close frames', async () => under.live.closes.length === sessions)
  t.equal(under.live.closes.at(-1), 1008)
  await until('logged', async () => sessionLines(under).length === sessions)
  t.equal(sessionLines(under).at(-1)?.['websocket.close_code'], 1008)
})

t.test('a revocation closes the sessions of its grant with 1008, and no others', async (t) => {
  const under = await start(t)
  under.issuer.store('one', { scope: 'courses:read', grant: 'g1' })
  under.issuer.store('two', { scope: 'courses:read', grant: 'g2' })
  const one = await open(under, '/live/scoped', 'one')
  const two = await open(under, '/live/scoped', 'two')
  under.issuer.revoke('one')
  t.same(await one.closed, { code: 1008, reason: 'token revoked' })
  two.socket.send('here')
  await until('the other lives', async () => two.messages.length === 1)
  two.socket.close()
})

t.test('a revocation in a gap is detected when the channel reconnects', async (t) => {
  const under = await start(t)
  under.issuer.store('one', { scope: 'courses:read' })
  const one = await open(under, '/live/scoped', 'one')
  under.issuer.revoke('one', { push: false })
  under.issuer.dropSubscribers()
  t.same(await one.closed, { code: 1008, reason: 'token no longer valid' })
})

t.test(
  'a session ends when its issuer stays unavailable, and a session without a token stays open',
  // token-rechecks.test.ts tests the length of the outage with a clock of its own. Here, the failed checks and the
  // messages would compete for the same time.
  async (t) => {
    const under = await start(
      t,
      {},
      { pushes: false, staleIfErrorMs: 0, maxTtlMs: 2_500, ttlWithoutPushMs: 100 },
    )
    const { issuer } = under
    issuer.store('one', { scope: 'courses:read' })
    const one = await open(under, '/live/scoped', 'one')
    const nobody = await open(under, '/live/open')
    let failed = 0
    issuer.answerWith((response) => {
      failed += 1
      response.writeHead(500).end()
    })
    t.same(await one.closed, { code: 1011, reason: 'token cannot be checked' })
    t.ok(failed >= 1)
    nobody.socket.send('here')
    await until('an anonymous session depends on no issuer', async () => nobody.messages.length === 1)
    nobody.socket.close()
  },
)

t.test('the gateway detects a revocation during an issuer outage after the outage', async (t) => {
  const under = await start(t, {}, { ttlWithoutPushMs: 100 })
  const { issuer } = under
  issuer.store('one', { scope: 'courses:read' })
  const one = await open(under, '/live/scoped', 'one')
  let failed = 0
  issuer.answerWith((response) => {
    failed += 1
    response.writeHead(500).end()
  })
  issuer.revoke('one', { push: false })
  issuer.dropSubscribers()
  const lines = (event: string) => under.log().filter((line) => line['event'] === event).length
  await until('given up', async () => failed > 0 && lines('introspection_suspended') > 0)
  await until('revocations arrive again', async () => lines('revocations_connected') === 2)
  const inVain = async () =>
    sumSamples(
      await (await fetch(`${under.gateway.managementUrl}/metrics`)).text(),
      'scopegate_introspections_total',
    )
  const before = await inVain()
  await until('another introspection failed', async () => (await inVain()) > before)
  t.equal(one.socket.readyState, WebSocket.OPEN)
  issuer.answerWith(undefined)
  t.same(await one.closed, { code: 1008, reason: 'token no longer valid' })
})

t.test('a failed upstream closes the session with 1011', async (t) => {
  const under = await start(t)
  const client = await open(under, '/live/open')
  under.live.kill()
  t.same(await client.closed, { code: 1011, reason: 'upstream gone' })
  await until('logged', async () => sessionLines(under).length === 1)
  t.equal(sessionLines(under)[0]?.['websocket.close_code'], 1006)
})

t.test('an upstream that fails within a message ends the connection without a Close frame', async (t) => {
  const under = await start(t)
  under.live.onHandshake((socket, request) => {
    void acceptRaw(socket, request.headers['sec-websocket-key'] ?? '', Buffer.from([0x81, 0x05, 0x68]))
  })
  const client = await open(under, '/live/open')
  t.match(await client.closed, { code: 1006 })
  t.same(client.messages, [])
})

t.test('the failure of a client is reported to the upstream', async (t) => {
  const under = await start(t)
  const { port, hostname } = new URL(under.gateway.url)
  const socket = connect(Number(port), hostname)
  socket.write(handshake('/live/open'))
  const [head] = await once(socket, 'data')
  t.match(String(head), /^HTTP\/1.1 101 /)
  socket.resetAndDestroy()
  await until('the upstream gets the Close frame', async () => under.live.closes.length === 1)
  t.same(under.live.closes, [1001])
})

t.test(
  'a rejected handshake gets the status of the upstream, and an invalid acceptance gets 502',
  async (t) => {
    const under = await start(t)
    under.live.onHandshake((socket) =>
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 4\r\nconnection: close\r\n\r\nnope'),
    )
    const rejected = await under.raw(handshake('/live/open'))
    t.match(rejected, /^HTTP\/1.1 403 /)
    t.match(rejected, /nope$/)
    under.live.onHandshake((socket) =>
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: wrong\r\n\r\n',
      ),
    )
    t.match(await under.raw(handshake('/live/open')), /^HTTP\/1.1 502 /)
    under.live.onHandshake(() => undefined)
    t.match(await under.raw(handshake('/live/impatient')), /^HTTP\/1.1 504 /)
  },
)

t.test('frames that violate the protocol are not forwarded', async (t) => {
  const under = await start(t)
  const bad: Record<string, readonly [bytes: readonly number[], code: number]> = {
    'a client that does not mask': [[0x81, 0x01, 0x61], 1002],
    'an opcode that means nothing': [[0x83, 0x80, 0, 0, 0, 0], 1002],
    'a ping in fragments': [[0x09, 0x80, 0, 0, 0, 0], 1002],
    'a ping that is too long': [[0x89, 0xfe, 0x00, 0x7e], 1002],
    'a continuation of nothing': [[0x80, 0x80, 0, 0, 0, 0], 1002],
    'a new message inside another': [[0x01, 0x80, 0, 0, 0, 0, 0x81, 0x80, 0, 0, 0, 0], 1002],
    'a length beyond all bounds': [
      [0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
      1009,
    ],
  }
  for (const [name, [bytes, code]] of Object.entries(bad)) {
    const received: Buffer[] = []
    const { port, hostname } = new URL(under.gateway.url)
    const socket = connect(Number(port), hostname)
    socket.on('data', (chunk) => received.push(chunk))
    socket.write(handshake('/live/open'))
    await until('open', async () => Buffer.concat(received).includes('\r\n\r\n'))
    socket.write(Buffer.from(bytes))
    const close = Buffer.from([0x88, 0, code >> 8, code & 0xff])
    await until(`${name}: closed`, async () => {
      const all = Buffer.concat(received)
      const frame = all.subarray(all.indexOf('\r\n\r\n') + 4)
      return frame.length > 4 && frame[0] === 0x88 && frame.subarray(2, 4).equals(close.subarray(2))
    })
    socket.destroy()
    t.pass(name)
  }
  await until('all closed', async () => under.live.closes.length === Object.keys(bad).length)
  t.ok(
    under.live.closes.every((code) => code === 1002 || code === 1009),
    String(under.live.closes),
  )
})

t.test('a message above the limit of its route closes with 1009', async (t) => {
  const under = await start(t)
  const client = await open(under, '/live/small')
  client.socket.send('x'.repeat(1_000))
  await until('echo', async () => client.messages.length === 1)
  client.socket.send(Buffer.from(Array.from({ length: 4_096 }, () => Math.floor(Math.random() * 256))))
  t.same(await client.closed, { code: 1009, reason: 'message too big' })
})

t.test('a client that reads slowly slows the upstream down and loses no message', async (t) => {
  const under = await start(t)
  const total = 32 * 1024 * 1024
  const piece = Buffer.alloc(64 * 1024, 1)
  let highest = 0
  under.live.onSession((socket) => {
    for (let sent = 0; sent < total; sent += piece.length) socket.send(piece)
    highest = socket.bufferedAmount
  })
  const { port, hostname } = new URL(under.gateway.url)
  const socket = connect(Number(port), hostname)
  socket.write(handshake('/live/open'))
  await once(socket, 'readable')
  // The client does not read. Waits until the kernel buffers are full and the buffer of the upstream no longer changes.
  await until('settled', async () => {
    const [upstream] = under.live.sockets
    const before = upstream?.bufferedAmount ?? 0
    await new Promise((resolve) => setImmediate(resolve))
    return before > 0 && upstream?.bufferedAmount === before
  })
  t.ok(highest > 0)
  t.ok(
    (under.live.sockets[0]?.bufferedAmount ?? 0) > total / 4,
    `${under.live.sockets[0]?.bufferedAmount} bytes wait`,
  )
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  await until('all of it', async () => bytes >= total, 30_000)
  socket.destroy()
})

t.test('the gateway limits the number of WebSocket sessions', async (t) => {
  const under = await start(t, { maxSessions: 3, maxSessionsPerCaller: 2 })
  under.issuer.store('good', { scope: 'courses:read' })
  const first = await open(under, '/live/open')
  await open(under, '/live/open')
  const tooMany = await under.raw(handshake('/live/open'))
  t.match(tooMany, /^HTTP\/1.1 429 /)
  t.match(tooMany, /\r\nretry-after: 5\r\n/i)
  await open(under, '/live/scoped', 'good')
  t.match(await under.raw(handshake('/live/open')), /^HTTP\/1.1 503 /)
  t.equal(under.live.handshakes.length, 3)
  first.socket.close()
  await first.closed
  await until('a place is free', async () => sessionLines(under).length === 1)
  await open(under, '/live/open')
  under.live.onHandshake((socket) => socket.destroy())
  for (let attempt = 0; attempt < 3; attempt += 1) await under.raw(handshake('/live/open'))
})

t.test('a shutdown without a drain closes every session with 1001', async (t) => {
  const under = await start(t)
  const clients = await Promise.all(Array.from({ length: 20 }, () => open(under, '/live/open')))
  await under.gateway.close({ how: 'immediate' })
  for (const { closed } of clients) t.same(await closed, { code: 1001, reason: 'going away' })
  await until('the upstream gets the Close frames', async () => under.live.closes.length === clients.length)
  t.ok(under.live.closes.every((code) => code === 1001))
  await until('each is logged', async () => sessionLines(under).length === clients.length)
})

async function acceptRaw(socket: import('node:stream').Duplex, key: string, bytes: Buffer): Promise<void> {
  const { hash } = await import('node:crypto')
  const accept = hash('sha1', `${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`, 'base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
  socket.end(bytes)
}

t.test('a session ends when a condition of its route no longer holds', async (t) => {
  const under = await start(t, {}, { pushes: false, maxTtlMs: 100, ttlWithoutPushMs: 100 })
  const { issuer } = under
  issuer.store('one', { school: 's1' })
  const one = await open(under, '/live/mine?school=s1', 'one')
  const asked = issuer.asked.length
  await until('the token is introspected again', async () => issuer.asked.length > asked + 1)
  one.socket.send('still here')
  await until('echo', async () => one.messages.length === 1)
  issuer.store('one', { school: 's2' })
  t.same(await one.closed, { code: 1008, reason: 'no longer allowed' })
})

/** Accepts a handshake that `holdHandshakes()` has returned. RFC 6455 section 4.2.2. */
function grant({ socket, request }: Held): void {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.on('data', () => socket.end())
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
}
type Held = { readonly socket: Duplex; readonly request: IncomingMessage }

/** The upstream delays its responses to all later handshakes. Returns the delayed handshakes. */
function holdHandshakes({ live }: Under): readonly Held[] {
  const held: Held[] = []
  live.onHandshake((socket, request) => held.push({ socket, request }))
  return held
}

t.test('a session that opens while the gateway drains is closed with 1001', async (t) => {
  const under = await start(t)
  const first = await open(under, '/live/open')
  const held = holdHandshakes(under)
  const opening = open(under, '/live/open')
  const late = await until('the handshake', async () => held[0])
  const closing = under.gateway.close({ how: 'immediate' })
  t.match(await first.closed, { code: 1001 }, 'the gateway drains')
  grant(late)
  t.match(await (await opening).closed, { code: 1001, reason: 'going away' })
  await closing
})
