import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { UpstreamSettings } from '../../gateway/upstreams/upstream.ts'
import { anUpstream, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { type FaultProxy, startFaultProxy } from '../fixtures/fault-proxy.ts'
import { OK_REPLY, type Reply } from '../fixtures/recording-upstream.ts'
import { startSilentServer } from '../fixtures/silent-server.ts'
import { until } from '../fixtures/until.ts'

const HEAD = 'Host: api.test\r\nConnection: close\r\n'
const GET = `GET /pub/x HTTP/1.1\r\n${HEAD}\r\n`
/** The tests that wait for a timeout use this timeout. All other timeouts are long enough for a busy machine. */
const SOON_MS = 300

type Sick = {
  readonly what: string
  readonly status: 502 | 504
  readonly errorType: string
  readonly reply?: Reply
  readonly network?: (proxy: FaultProxy) => void | Promise<void>
  readonly times?: Partial<UpstreamSettings>
}

const HALF_HEAD = 'HTTP/1.1 200 OK\r\ncontent-le'
const endWith = (bytes: string) => (socket: Socket) => {
  socket.end(bytes, 'latin1')
}

/** Faults before the gateway has forwarded a byte of the response. The gateway sends a local reply. */
const SILENT: readonly Sick[] = [
  {
    what: 'does not accept connections',
    status: 502,
    errorType: 'upstream_connect',
    network: (proxy) => proxy.down(),
  },
  {
    what: 'resets the connection after the request',
    status: 502,
    errorType: 'upstream_reset',
    reply: (socket) => void socket.resetAndDestroy(),
  },
  {
    what: 'closes the connection after the request',
    status: 502,
    errorType: 'upstream_reset',
    reply: endWith(''),
  },
  {
    what: 'never responds',
    status: 504,
    errorType: 'upstream_timeout',
    reply: () => undefined,
    times: { timeoutMs: SOON_MS },
  },
  {
    what: 'is behind a network that loses every byte',
    status: 504,
    errorType: 'upstream_timeout',
    network: (proxy) => proxy.toTarget({ blackHole: true }),
    times: { timeoutMs: SOON_MS },
  },
  {
    what: 'sends its head too slowly, one byte at a time',
    status: 504,
    errorType: 'upstream_timeout',
    network: (proxy) => proxy.toClient({ sliceBytes: 1, latencyMs: 50 }),
    times: { timeoutMs: SOON_MS },
  },
  {
    what: 'closes the connection within its head',
    status: 502,
    errorType: 'upstream_reset',
    reply: endWith(HALF_HEAD),
  },
  {
    what: 'resets the connection within its head',
    status: 502,
    errorType: 'upstream_reset',
    network: (proxy) => proxy.toClient({ resetAfterBytes: 20 }),
  },
  {
    what: 'sends a response that is not HTTP',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith('220 mail.example ESMTP\r\n\r\n'),
  },
  {
    what: 'sends both a length and chunked framing',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith(
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ),
  },
  {
    what: 'sends two different lengths',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'),
  },
  {
    what: 'sends too many headers',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith(
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 3_000 }, (_, i) => `x-${i}: ${'v'.repeat(20)}\r\n`).join('')}\r\n`,
    ),
  },
  {
    what: 'sends a line break inside a header',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith('HTTP/1.1 200 OK\r\nx-a: b\rx-auth-subject: c\r\ncontent-length: 2\r\n\r\nok'),
  },
  {
    what: 'sends endless interim responses',
    status: 502,
    errorType: 'upstream_protocol',
    reply: (socket) => {
      socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(200))
    },
  },
  {
    what: 'switches protocols without a request for a switch',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  },
]

/**
 * Faults during a response. The gateway forwards the received part, and the client detects that the response is
 * incomplete.
 */
const BROKEN_OFF: readonly (Sick & { readonly came: string })[] = [
  {
    what: 'closes before the announced length',
    status: 502,
    errorType: 'upstream_reset',
    reply: endWith('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
    came: 'half',
  },
  {
    what: 'closes before its last chunk',
    status: 502,
    errorType: 'upstream_reset',
    reply: endWith('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'),
    came: 'half',
  },
  {
    what: 'sends an invalid chunk',
    status: 502,
    errorType: 'upstream_protocol',
    reply: endWith('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n'),
    came: 'half',
  },
  {
    what: 'resets a response without a length',
    status: 502,
    errorType: 'upstream_reset',
    reply: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nhalf', () => setImmediate(() => socket.resetAndDestroy()))
    },
    came: 'half',
  },
  {
    what: 'stops sending within its response',
    status: 504,
    errorType: 'upstream_timeout',
    reply: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')
    },
    times: { idleTimeoutMs: SOON_MS },
    came: 'half',
  },
]

async function startSick(t: Test, sick: Sick): Promise<GatewayUnderTest> {
  let proxy: FaultProxy | undefined
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({ ...one, ...sick.times, urls: [proxy?.url ?? ''] })),
    }),
    before: async (url) => {
      proxy = await startFaultProxy(url)
      t.teardown(() => proxy?.close())
    },
  })
  if (sick.reply !== undefined) under.upstream.reply(sick.reply)
  if (proxy !== undefined) await sick.network?.(proxy)
  return under
}

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: open, match: { methods: [GET, POST, PUT, DELETE, HEAD], path: "/pub/**" } }
`

/** Returns all bytes that a client receives on one connection, and whether the connection was reset. */
async function exchange(url: string, bytes: string): Promise<{ text: string; reset: boolean }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  let reset = false
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => (reset = true))
  socket.write(bytes, 'latin1')
  await new Promise((resolve) => socket.once('close', resolve))
  return { text, reset }
}

async function errorTypes(under: GatewayUnderTest): Promise<readonly unknown[]> {
  const lines = await until('the access line', async () => {
    const access = under.log().filter((line) => line['event'] === 'access')
    return access.length > 0 && access
  })
  return lines.map((line) => line['error.type'])
}

for (const sick of SILENT)
  t.test(`an upstream that ${sick.what} causes ${sick.status}`, async (t) => {
    const under = await startSick(t, sick)
    const { text } = await exchange(under.gateway.url, GET)
    t.match(text, new RegExp(`^(?:HTTP/1\\.1 102 Processing\r\n\r\n)*HTTP/1\\.1 ${sick.status} `))
    t.match(text, /\r\nx-scopegate-error: 1\r\n/)
    t.match(text, sick.status === 504 ? /"error":"upstream_timeout"/ : /"error":"upstream_unavailable"/)
    t.equal(text.match(/HTTP\/1\.1 [2-5]/g)?.length, 1, 'one answer')
    t.notMatch(text, /127\.0\.0\.1|ECONN|UND_ERR|HPE_/, 'the response exposes no internals')
    t.same(await errorTypes(under), [sick.errorType])
    t.ok(under.upstream.requests.length <= 1, 'the gateway does not retry')
  })

for (const sick of BROKEN_OFF)
  for (const version of ['1.1', '1.0'])
    t.test(
      `an upstream that ${sick.what} gives an HTTP/${version} client no complete response`,
      async (t) => {
        const under = await startSick(t, sick)
        const { text, reset } = await exchange(under.gateway.url, `GET /pub/x HTTP/${version}\r\n${HEAD}\r\n`)
        const whole = isWhole(text) && !reset
        t.notOk(whole, `the client detects an incomplete response: ${JSON.stringify({ text, reset })}`)
        t.match(text, /^(?:HTTP\/1\.1 (?:200|502) |$)/, 'a reset may overtake earlier bytes')
        t.same(await errorTypes(under), [sick.errorType])
      },
    )

/** RFC 9112 section 6.3 defines when a response is complete. */
function isWhole(text: string): boolean {
  const [head = '', body = ''] = text.split(/\r\n\r\n(.*)/s)
  if (/^HTTP\/1\.1 5/.test(head)) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length !== undefined) return body.length === Number(length)
  if (/\r\ntransfer-encoding: chunked/i.test(head)) return body.endsWith('0\r\n\r\n')
  return head !== ''
}

t.test(
  'an upstream address that drops connection attempts causes 504 after the connect timeout',
  async (t) => {
    const silent = await startSilentServer()
    t.teardown(() => silent.close())
    const under = await startGatewayUnderTest(t, {
      policy: POLICY,
      change: (config) => ({
        ...config,
        upstreams: [
          { ...anUpstream('api', silent.url), timeoutMs: 60_000, connectTimeoutMs: 200 },
          anUpstream('auth', silent.url),
        ],
      }),
    })
    const { text } = await exchange(under.gateway.url, GET)
    t.match(text, /^HTTP\/1\.1 504 .*"error":"upstream_timeout"/s)
    t.same(await errorTypes(under), ['upstream_timeout'])
  },
)

t.test(
  'an upstream address that drops connection attempts is ejected, and returns when it accepts them',
  async (t) => {
    const silent = await startSilentServer()
    t.teardown(() => silent.close())
    const under = await startGatewayUnderTest(t, {
      policy: POLICY,
      change: (config) => ({
        ...config,
        upstreams: [
          { ...anUpstream('api', silent.url), connectTimeoutMs: 100 },
          anUpstream('auth', silent.url),
        ],
      }),
    })
    const status = async () => (await exchange(under.gateway.url, GET)).text.slice(9, 12)
    const statuses: string[] = []
    for (let i = 0; i < 6; i++) statuses.push(await status())
    t.same(statuses, ['504', '504', '504', '504', '504', '503'])
    silent.wake()
    await until('the upstream responds again', async () => (await status()) === '200')
  },
)

t.test('an upstream name that does not resolve causes 502, and the log names the reason', async (t) => {
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => ({ ...one, urls: ['http://no-such-host.invalid'] })),
    }),
  })
  const { text } = await exchange(under.gateway.url, GET)
  t.match(text, /^HTTP\/1\.1 502 .*"error":"upstream_unavailable"/s)
  t.notMatch(text, /no-such-host/)
  t.same(await errorTypes(under), ['upstream_dns'])
})

t.test(
  'an upstream that fails repeatedly causes 503 immediately, and serves again after it recovers',
  async (t) => {
    let proxy: FaultProxy | undefined
    const under = await startSick(t, {
      what: '',
      status: 502,
      errorType: '',
      network: (given) => {
        proxy = given
        return given.down()
      },
    })
    const statuses: string[] = []
    for (let i = 0; i < 7; i++) statuses.push((await exchange(under.gateway.url, GET)).text.slice(9, 12))
    t.same(statuses, ['502', '502', '502', '502', '502', '503', '503'])
    const { text } = await exchange(under.gateway.url, GET)
    t.match(text, /\r\nretry-after: 1\r\n.*"error":"upstream_unavailable"/s)
    const metrics = async () => (await fetch(`${under.gateway.managementUrl}/metrics`)).text()
    const sickMetrics = await metrics()
    t.match(sickMetrics, 'scopegate_upstream_up{upstream="api"} 0')
    t.match(sickMetrics, 'scopegate_circuit_state{upstream="api"} 2')
    t.match(sickMetrics, 'scopegate_upstream_errors_total{upstream="api",reason="connect"} 5')
    t.match(sickMetrics, 'scopegate_upstream_up{upstream="auth"} 1')

    await proxy?.up()
    await until('the upstream is tried again', async () =>
      (await metrics()).includes('circuit_state{upstream="api"} 1'),
    )
    t.match((await exchange(under.gateway.url, GET)).text, /^HTTP\/1\.1 200 /)
    t.match(await metrics(), 'scopegate_circuit_state{upstream="api"} 0')
  },
)

t.test('requests without a response from the upstream do not delay other requests', async (t) => {
  const hangs: Sick = {
    what: '',
    status: 504,
    errorType: '',
    reply: (socket, { target }) => {
      if (target !== '/pub/hangs') socket.write(OK_REPLY)
    },
    times: { timeoutMs: 3_000 },
  }
  const under = await startSick(t, hangs)
  const hung = Array.from({ length: 20 }, () =>
    exchange(under.gateway.url, GET.replace('/pub/x', '/pub/hangs')),
  )
  await until('the requests wait for the upstream', async () => under.upstream.requests.length === 20)
  t.match((await exchange(under.gateway.url, GET)).text, /^HTTP\/1\.1 200 /)
  for (const { text } of await Promise.all(hung)) t.match(text, /^HTTP\/1\.1 504 /)
  t.match((await exchange(under.gateway.url, GET)).text, /^HTTP\/1\.1 200 /)
})
