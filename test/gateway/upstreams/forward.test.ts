import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Exchange } from '../../../gateway/upstreams/exchange.ts'
import { forward } from '../../../gateway/upstreams/forward.ts'
import type { ForwardRequest } from '../../../gateway/upstreams/forward-request.ts'
import { createUpstream } from '../../../gateway/upstreams/upstream.ts'
import type { CircuitRules } from '../../../platform/circuit-breaker.ts'
import type { ResolveName } from '../../../platform/net/resolve-name.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { anUpstream, NO_ACCESS } from '../../fixtures/a-gateway.ts'
import { OK_REPLY, startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

const FAILURES = 3
const TOO_LARGE: Rejection = { rejected: 'mcp_tools_unreadable' }

const loopback: ResolveName = async () => [{ address: '127.0.0.1', family: 4 }]

/**
 * Starts a server that forwards requests to an upstream with these settings. The circuit of a target opens after
 * FAILURES failures.
 */
async function startForwarder(
  t: Test,
  {
    resolve = loopback,
    start = forward,
    hosts = ['api.test'],
    ejection = { failures: FAILURES, longestPauseMs: 30_000 },
    tickMs = () => performance.now(),
    timeoutMs = 20_000,
  }: {
    readonly resolve?: ResolveName
    readonly start?: (request: ForwardRequest) => unknown
    /** Host names of the targets. All targets have the same port. */
    readonly hosts?: readonly string[]
    readonly ejection?: CircuitRules
    readonly tickMs?: () => number
    /** Response timeout of the upstream. */
    readonly timeoutMs?: number
  } = {},
) {
  const recording = await startRecordingUpstream()
  recording.reply(OK_REPLY)
  const upstream = createUpstream(
    {
      ...anUpstream('api', ...hosts.map((host) => recording.url.replace('127.0.0.1', host))),
      ejection,
      timeoutMs,
    },
    {
      meter: {
        responded: () => undefined,
        failed: () => undefined,
        retried: () => undefined,
        probed: () => undefined,
        lookedUp: () => undefined,
        removed: () => undefined,
      },
      resolve,
      resolveSrv: async () => [],
      access: NO_ACCESS,
      readsEarlyResponses: true,
      workers: 1,
      tickMs,
      logger: { info: () => undefined, warn: () => undefined },
    },
  )
  const rejections: Rejection[] = []
  let change: Partial<ForwardRequest> = {}
  const server = createServer((request, response) => {
    start({
      upstream,
      method: request.method ?? '',
      target: request.url ?? '',
      headers: [],
      body: request.method === 'POST' ? request : undefined,
      bodyLimitBytes: 1_000,
      timeoutMs: 20_000,
      idleTimeoutMs: 20_000,
      retries: undefined,
      onUpgrade: undefined,
      eventStreams: new Set(),
      rewriter: undefined,
      response,
      rejectionOf: () => undefined,
      shape: () => ['connection', 'close'],
      reject: (rejection) => {
        rejections.push(rejection)
        response.writeHead(400).end()
      },
      endEarly: () => response.end(),
      onBroken: (error) => response.destroy(error as Error),
      onFailure: () => undefined,
      tickMs,
      ...change,
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await upstream.close()
    await recording.close()
  })
  return {
    recording,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
    upstream,
    rejections,
    change: (given: Partial<ForwardRequest>) => {
      change = given
    },
  }
}

const UNFORWARDABLE: Readonly<Record<string, readonly [method: 'GET' | 'POST', Partial<ForwardRequest>]>> = {
  'a header name with a space': ['GET', { headers: ['bad name', 'x'] }],
  'a header value with a line break': ['GET', { headers: ['x', 'a\r\nb'] }],
  'a target with a space': ['GET', { target: '/a b' }],
  'a length without a body': ['GET', { headers: ['content-length', '3'] }],
  'a body longer than its length': ['POST', { headers: ['content-length', '3'] }],
}

for (const [what, [method, change]] of Object.entries(UNFORWARDABLE))
  t.test(`requests with ${what} do not count as failures of the target`, async (t) => {
    const { url, upstream, rejections, change: use } = await startForwarder(t)
    use(change)
    for (let i = 0; i < FAILURES * 2; i++)
      t.equal((await send(url, method === 'POST' ? { body: 'longer' } : {})).status, 400)
    t.same(
      rejections.map(({ rejected }) => rejected),
      Array.from({ length: FAILURES * 2 }, () => 'request_malformed'),
    )
    t.equal(upstream.targets.state, 'closed')
    use({})
    t.equal((await send(url)).status, 200)
  })

t.test(
  'a lack of file descriptors does not count as a failure of the target, but a missing address does',
  async (t) => {
    let code = 'EMFILE'
    const { url, upstream, rejections } = await startForwarder(t, {
      resolve: () => Promise.reject(Object.assign(new Error(code), { code })),
    })
    for (let i = 0; i < FAILURES * 2; i++) await send(url)
    t.same(new Set(rejections.map(({ rejected }) => rejected)), new Set(['overloaded']))
    t.equal(upstream.targets.state, 'closed')
    code = 'ENOTFOUND'
    for (let i = 0; i < FAILURES; i++) await send(url)
    t.equal(rejections.at(-1)?.rejected, 'upstream_unreachable')
    t.equal(upstream.targets.state, 'open')
  },
)

/** The circuit opens after one failure. The gateway tests the target again after 1 ms. */
const SENSITIVE: CircuitRules = { failures: 1, longestPauseMs: 1 }

t.test('a request becomes the new trial when the current trial got no response within 5 s', async (t) => {
  const clock = { ms: 0 }
  const { url, recording, upstream, rejections } = await startForwarder(t, {
    ejection: SENSITIVE,
    tickMs: () => clock.ms,
  })
  recording.reply((socket) => void socket.resetAndDestroy())
  await send(url)
  await until('the target accepts a connection', async () => upstream.targets.state === 'half_open')
  const held: Socket[] = []
  recording.reply((socket) => void held.push(socket))
  const slow = send(url)
  await until('the trial is at the target', async () => held.length === 1)
  clock.ms += 4_999
  t.equal((await send(url)).status, 400)
  t.match(rejections.at(-1), { rejected: 'upstream_ejected' })
  recording.reply(OK_REPLY)
  clock.ms += 1
  t.equal((await send(url)).status, 200)
  t.equal(upstream.targets.state, 'closed')
  held[0]?.write(OK_REPLY)
  t.equal((await slow).status, 200, 'the slow trial gets its response')
})

t.test(
  'a timeout of a policy that is shorter than the timeout of the upstream opens no circuit',
  async (t) => {
    const clock = { ms: 0 }
    const { url, recording, upstream, rejections, change } = await startForwarder(t, {
      ejection: SENSITIVE,
      tickMs: () => clock.ms,
      timeoutMs: 100,
    })
    recording.reply(() => undefined)
    change({ timeoutMs: 1 })
    for (let i = 0; i < FAILURES * 2; i++) await send(url)
    t.same(new Set(rejections.map(({ rejected }) => rejected)), new Set(['upstream_timed_out']))
    t.equal(upstream.targets.state, 'closed')
    change({ timeoutMs: 100 })
    await send(url)
    t.not(upstream.targets.state, 'closed', 'the upstream had its own timeout')
  },
)

t.test('a short timeout of a policy does not count as a failed trial', async (t) => {
  const { url, recording, upstream, change } = await startForwarder(t, { ejection: SENSITIVE })
  recording.reply((socket) => void socket.resetAndDestroy())
  await send(url)
  await until('the target accepts a connection', async () => upstream.targets.state === 'half_open')
  recording.reply(() => undefined)
  change({ timeoutMs: 1 })
  await send(url)
  t.equal(upstream.targets.state, 'half_open')
  change({})
  recording.reply(OK_REPLY)
  t.equal((await send(url)).status, 200)
  t.equal(upstream.targets.state, 'closed')
})

t.test(
  'only one of two requests that fail at the same time is retried as the trial of a target',
  async (t) => {
    const notFound = Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' })
    const failing = Promise.withResolvers<Awaited<ReturnType<ResolveName>>>()
    const recovering = Promise.withResolvers<Awaited<ReturnType<ResolveName>>>()
    let lookups = 0
    const { url, recording, upstream, rejections, change } = await startForwarder(t, {
      hosts: ['failing.test', 'recovering.test'],
      ejection: SENSITIVE,
      async resolve(hostname) {
        if (hostname === 'failing.test') return failing.promise
        lookups += 1
        if (lookups === 1) throw notFound
        return recovering.promise
      },
    })
    const [first, second] = upstream.targets.all
    await send(url) // fails at the second target
    t.same([first?.state, second?.state], ['closed', 'open'])

    change({ retries: { attempts: 2, on: ['connect'] } })
    const replies = [send(url), send(url)]
    await until('both requests are at the first target', async () => first?.outstanding === 2)
    await new Promise(setImmediate) // the gateway requests the connections at the end of the event loop iteration
    recovering.resolve(await loopback(''))
    await until('the second target accepts a connection', async () => second?.state === 'half_open')
    failing.reject(notFound)
    t.same((await Promise.all(replies)).map(({ status }) => status).toSorted(), [200, 400])
    t.equal(recording.requests.length, 1)
    t.match(rejections.at(-1), { rejected: 'upstream_unreachable' })
  },
)

t.test('an upgrade that arrives after the client left does not keep its socket', async (t) => {
  const started = Promise.withResolvers<{ exchange: Exchange; left: Promise<unknown> }>()
  let upgrades = 0
  const { url, recording } = await startForwarder(t, {
    start(request) {
      const exchange = new Exchange({ ...request, onUpgrade: () => (upgrades += 1) })
      exchange.start()
      started.resolve({ exchange, left: once(request.response, 'close') })
    },
  })
  recording.reply(() => undefined)
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  client.write('GET /x HTTP/1.1\r\nhost: a\r\n\r\n')
  const { exchange, left } = await started.promise
  client.destroy()
  await left

  const other = createNetServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => other.close())
  const socket = connect((other.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  exchange.onRequestUpgrade({ pause() {}, resume() {}, abort() {} }, 101, {}, socket)
  t.equal(socket.destroyed, true)
  t.equal(upgrades, 0)
})

t.test('a held response keeps no chunk, because many small chunks take much memory', async (t) => {
  const started = Promise.withResolvers<Exchange>()
  const { url, recording, rejections } = await startForwarder(t, {
    start(request) {
      const rewriter = { limitBytes: 4, rewrite: ({ body }: { body: Buffer }) => body, rejection: TOO_LARGE }
      const exchange = new Exchange({ ...request, rewriter })
      exchange.start()
      started.resolve(exchange)
    },
  })
  recording.reply(() => undefined)
  const response = send(url)
  const exchange = await started.promise
  const controller = { pause() {}, resume() {}, abort() {} }
  exchange.onResponseStart(controller, 200, {})
  for (const text of ['a', 'b', 'cc']) {
    const chunk = Buffer.from(text)
    exchange.onResponseData(controller, chunk)
    chunk.fill('x')
  }
  exchange.onResponseEnd()
  t.equal((await response).text, 'abcc')
  t.same(rejections, [])
})
