import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'undici'
import type { Target } from '../../gateway/upstreams/target.ts'
import {
  type ConnectionLimits,
  createUpstream,
  shareOfWorker,
  type Upstream,
} from '../../gateway/upstreams/upstream.ts'
import { anUpstream, type GatewayUnderTest, NO_ACCESS, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY, type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET], path: "/open/**" } }
  - { name: live, match: { methods: [GET], path: /live/open }, websocket: true }
`

const reached = (ask: () => boolean | Promise<boolean>) => until('the expected state', async () => ask())

t.jobs = 4 // each test starts its own gateway and needs little CPU time

/** Starts a gateway whose upstream has these limits. `answer()` sends the next response of the upstream. */
async function start(
  t: Test,
  limits: Partial<ConnectionLimits>,
  urls: readonly string[] = [],
  failures = 5,
): Promise<{
  under: GatewayUnderTest
  held: Socket[]
  answer: () => void
  send: (path: string) => Promise<Response>
}> {
  const held: Socket[] = []
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api'
          ? {
              ...anUpstream('api', ...(urls.length === 0 ? one.urls : urls)),
              ejection: { failures, longestPauseMs: 30_000 },
              connections: { max: 1, maxPending: 0, queueTimeoutMs: 20_000, ...limits },
            }
          : one,
      ),
    }),
  })
  under.upstream.reply((socket) => held.push(socket))
  return {
    under,
    held,
    answer: () => held.shift()?.write(OK_REPLY),
    send: (path) => fetch(`${under.gateway.url}/open/${path}`),
  }
}

async function metricOf({ gateway }: GatewayUnderTest, series: string): Promise<number> {
  const text = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length))
}

const pending = (under: GatewayUnderTest) =>
  metricOf(under, 'scopegate_upstream_pending_requests{upstream="api"}')
const failed = (under: GatewayUnderTest, reason: string) =>
  metricOf(under, `scopegate_upstream_errors_total{upstream="api",reason="${reason}"}`)

/** Sends requests one after the other, so that their order in the queue is certain. */
async function fill(under: GatewayUnderTest, send: (path: string) => Promise<Response>, count: number) {
  const responses: Promise<Response>[] = []
  for (let at = 0; at <= count; at++) {
    responses.push(send(`${at}`))
    if (at === 0) await reached(() => under.upstream.requests.length === 1)
    else await reached(async () => (await pending(under)) === at)
  }
  return responses
}

t.test('requests wait in order for the only connection, and a full queue results in 503', async (t) => {
  const { under, answer, send } = await start(t, { maxPending: 3 })
  const responses = await fill(under, send, 3)
  let rejected: Response | undefined
  const excess = send('rejected').then((one) => {
    rejected = one
  })
  await reached(async () => rejected !== undefined || (await pending(under)) > 3)
  if (rejected === undefined) throw new Error('the queue has more than maxPendingRequests requests')
  await excess
  t.equal(rejected.status, 503)
  t.equal(rejected.headers.get('retry-after'), '1')
  t.match(await rejected.json(), { error: 'upstream_busy', retry_after: 1 })
  t.equal(await failed(under, 'queue_full'), 1)
  t.match(
    under.log().filter(({ event }) => event === 'upstream_failed'),
    [{ upstream: 'api', err: { code: 'ERR_UPSTREAM_QUEUE_FULL' } }],
  )
  for (const at of responses.keys()) {
    await reached(() => under.upstream.requests.length === at + 1)
    t.equal(
      under.upstream.requests[at]?.target,
      `/open/${at}`,
      'the requests start in the order of their arrival',
    )
    answer()
  }
  for (const response of responses) t.equal((await response).status, 200)
  t.equal(under.upstream.connections, 1, 'the requests share one connection')
  t.equal(await metricOf(under, 'scopegate_upstream_connections{upstream="api"}'), 1)
  t.equal(await pending(under), 0)
})

t.test('a burst never opens more connections than maxConnections', async (t) => {
  const { under, send } = await start(t, { max: 3, maxPending: 100 })
  under.upstream.reply(OK_REPLY)
  const responses = await Promise.all(Array.from({ length: 60 }, (_, at) => send(`${at}`)))
  t.same(new Set(responses.map(({ status }) => status)), new Set([200]))
  t.equal(under.upstream.connections, 3)
})

t.test('a connection that replaces a closed connection does not exceed maxConnections', async (t) => {
  const { under, send } = await start(t, { maxPending: 100 })
  let open = 0
  let most = 0
  under.upstream.reply((socket) => {
    open += 1
    most = Math.max(most, open)
    socket.once('close', () => {
      open -= 1
    })
    socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok')
  })
  const responses = await Promise.all(Array.from({ length: 20 }, (_, at) => send(`${at}`)))
  t.same(new Set(responses.map(({ status }) => status)), new Set([200]))
  t.equal(under.upstream.connections, 20)
  t.equal(most, 1)
})

t.test('a request leaves the queue with 503 after queueTimeout', async (t) => {
  const { under, answer, send } = await start(t, { maxPending: 1, queueTimeoutMs: 50 })
  const first = send('first')
  await reached(() => under.upstream.requests.length === 1)
  const late = await send('late')
  t.equal(late.status, 503)
  t.match(await late.json(), { error: 'upstream_busy' })
  t.equal(await failed(under, 'queue_timeout'), 1)
  t.equal(await pending(under), 0)
  answer()
  t.equal((await first).status, 200)
  t.equal(under.upstream.requests.length, 1)
})

t.test('a client that disconnects leaves the queue', async (t) => {
  const { under, answer, send } = await start(t, { maxPending: 1 })
  const first = send('first')
  await reached(() => under.upstream.requests.length === 1)
  const abort = new AbortController()
  const left = fetch(`${under.gateway.url}/open/left`, { signal: abort.signal }).catch(() => undefined)
  await reached(async () => (await pending(under)) === 1)
  abort.abort()
  await left
  await until('the log line of the request', async () =>
    under.log().some((one) => one['url.path'] === '/open/left'),
  )
  if (!t.equal(await pending(under), 0, 'the request left the queue')) return
  const next = send('next')
  await reached(async () => (await pending(under)) === 1)
  answer()
  await first
  await reached(() => under.upstream.requests.length === 2)
  answer()
  t.equal((await next).status, 200)
  t.same(
    under.upstream.requests.map(({ target }) => target),
    ['/open/first', '/open/next'],
  )
})

t.test('a request waits for any of several addresses', async (t) => {
  const other: RecordingUpstream = await startRecordingUpstream()
  t.teardown(() => other.close())
  const under = await startRecordingUpstream()
  t.teardown(() => under.close())
  const held: Socket[] = []
  for (const one of [under, other]) one.reply((socket) => held.push(socket))
  const { under: gateway, send } = await start(t, { maxPending: 1 }, [under.url, other.url])
  const responses = [send('0'), send('1')]
  await reached(() => held.length === 2)
  responses.push(send('2'))
  await reached(async () => (await pending(gateway)) === 1)
  t.same([under.requests.length, other.requests.length], [1, 1])
  held.pop()?.write(OK_REPLY)
  await reached(() => held.length === 2)
  for (const socket of held) socket.write(OK_REPLY)
  t.same(
    (await Promise.all(responses)).map(({ status }) => status),
    [200, 200, 200],
  )
})

/** Creates an upstream with a queue of one place. An address without connections is ejected after one failure. */
function anUpstreamWithQueue(t: Test, ...urls: readonly string[]): Upstream {
  const upstream = createUpstream(
    {
      ...anUpstream('api', ...urls),
      ejection: { failures: 1, longestPauseMs: 1 },
      connections: { max: 2, maxPending: 1, queueTimeoutMs: 60_000 },
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
      resolve: () => Promise.reject(new Error('the addresses are not names')),
      resolveSrv: async () => [],
      access: NO_ACCESS,
      readsEarlyResponses: true,
      workers: 1,
      tickMs: () => performance.now(),
      logger: { info: () => undefined, warn: () => undefined },
    },
  )
  t.teardown(() => upstream.close())
  return upstream
}

t.test('a queued request starts when an ejected address accepts connections again', async (t) => {
  const gone = await startRecordingUpstream()
  const { hostname: host, port } = new URL(gone.url)
  await gone.close()
  const upstream = anUpstreamWithQueue(t, gone.url, 'http://127.0.0.1:9')
  const [ejected, busy] = upstream.targets.all as readonly [Target, Target]
  for (const _ of [1, 2]) busy.started(performance.now())
  ejected.failed(performance.now())
  let started: Target | undefined
  upstream.queue.add({
    start(target) {
      started = target
    },
    reject: () => undefined,
  })
  const again = await startRecordingUpstream({ host, port: Number(port) })
  t.teardown(() => again.close())
  await reached(() => ejected.state === 'half_open')
  t.equal(started, ejected)

  const trial = ejected.started(performance.now())
  t.ok(trial)
  started = undefined
  upstream.queue.add({
    start(target) {
      started = target
    },
    reject: () => undefined,
  })
  await reached(() => started !== undefined)
  t.equal(started, ejected, 'after a trial without a result, the next request becomes a trial')
})

t.test('a removed upstream rejects its queued requests as unavailable', async (t) => {
  const upstream = anUpstreamWithQueue(t, 'http://127.0.0.1:9')
  const [busy] = upstream.targets.all as readonly [Target]
  for (const _ of [1, 2]) busy.started(performance.now())
  const errors: unknown[] = []
  upstream.queue.add({
    start: () => t.fail('the request starts'),
    reject: (error) => void errors.push(error),
  })
  void upstream.retire()
  t.same(errors, [undefined])
})

t.test('the queue ends with 503 when the last address is ejected', async (t) => {
  const { under, held, send } = await start(t, { maxPending: 2 }, [], 1)
  const responses = await fill(under, send, 2)
  held.shift()?.resetAndDestroy()
  const [first, ...queued] = await Promise.all(responses)
  t.equal(first?.status, 502)
  for (const one of queued) {
    t.equal(one.status, 503)
    t.match(await one.json(), { error: 'upstream_unavailable' })
  }
  t.equal(await failed(under, 'ejected'), 2)
})

t.test('a closed upstream rejects the requests in its queue', async (t) => {
  for (const end of ['retire', 'close'] as const) {
    const upstream = anUpstreamWithQueue(t, 'http://127.0.0.1:1')
    let rejected = 0
    upstream.queue.add({ start: () => undefined, reject: () => void rejected++ })
    await upstream[end]()
    t.equal(rejected, 1, end)
    t.equal(upstream.queue.size, 0)
  }
})

t.test('a shutdown waits for the requests in the queue', async (t) => {
  const { under, answer, send } = await start(t, { maxPending: 1 })
  const responses = await fill(under, send, 1)
  const closed = under.gateway.close({ how: 'graceful' })
  answer()
  await reached(() => under.upstream.requests.length === 2)
  answer()
  t.same(
    (await Promise.all(responses)).map(({ status }) => status),
    [200, 200],
  )
  await closed
})

t.test('a WebSocket keeps its connection until the session ends', async (t) => {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const { under, send } = await start(t, { maxPending: 0 }, [live.url])
  const socket = new WebSocket(`${under.gateway.url.replace('http', 'ws')}/live/open`)
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  t.equal((await send('busy')).status, 503)
  socket.close()
  await reached(async () => (await send('free')).status !== 503)
})

t.test('open WebSockets and idle connections together do not exceed maxConnections', async (t) => {
  const live = await startWebsocketUpstream()
  t.teardown(() => live.close())
  const { under, send } = await start(t, { max: 2 }, [live.url])
  const openConnections = () => metricOf(under, 'scopegate_upstream_connections{upstream="api"}')
  // Both connections are busy at the same time, and are then idle.
  const busy: ServerResponse[] = []
  live.onRequest((response) => busy.push(response))
  const responses = [send('a'), send('b')]
  await reached(() => busy.length === 2)
  for (const response of busy) response.end()
  for (const response of await Promise.all(responses)) await response.text()
  for (const count of [1, 2]) {
    const socket = new WebSocket(`${under.gateway.url.replace('http', 'ws')}/live/open`)
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    t.equal(live.connections, 2, `${count} of the open connections are WebSockets`)
    t.equal(await openConnections(), 2)
  }
})

t.test('each worker has an equal share of the limits, and at least one connection', async (t) => {
  t.same(shareOfWorker({ max: 10, maxPending: 5, queueTimeoutMs: 1 }, 4), {
    max: 2,
    maxPending: 1,
    queueTimeoutMs: 1,
  })
  t.same(shareOfWorker({ max: 2, maxPending: 0, queueTimeoutMs: 1 }, 4), {
    max: 1,
    maxPending: 0,
    queueTimeoutMs: 1,
  })
  t.equal(
    shareOfWorker({ max: Number.POSITIVE_INFINITY, maxPending: 0, queueTimeoutMs: 1 }, 4).max,
    Number.POSITIVE_INFINITY,
  )
})
