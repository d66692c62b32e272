import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { HealthCheck, type HealthCheckSettings } from '../../gateway/upstreams/health-check.ts'
import type { ConnectionPool } from '../../gateway/upstreams/http1/connection-pool.ts'
import type { UpstreamSettings } from '../../gateway/upstreams/upstream.ts'
import { aCertificate } from '../fixtures/a-certificate.ts'
import { anUpstream, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY, type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, timeout: 10m }
routes:
  - { name: open, match: { methods: [GET], path: "/open/**" } }
`
const HEALTH: HealthCheckSettings = {
  path: '/healthz?full=1',
  intervalMs: 50,
  timeoutMs: 10_000,
  unhealthyAfter: 2,
  healthyAfter: 2,
  statuses: undefined,
}
const UNAVAILABLE = 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\ndown'

const reached = (what: string, ask: () => boolean | Promise<boolean>) => until(what, async () => ask())

t.jobs = 4 // each test starts its own gateway and needs little CPU time

type Started = {
  readonly under: GatewayUnderTest
  /** Sets the reply to probes of the first target. Other requests get 200. */
  readonly answer: (reply: string | ((socket: Socket) => void)) => void
  readonly probes: () => number
  readonly request: () => Promise<number>
  /** The lines about changes of the state of a target. */
  readonly changes: () => readonly Readonly<Record<string, unknown>>[]
}

async function start(
  t: Test,
  healthCheck: Partial<HealthCheckSettings> = {},
  change: (upstream: UpstreamSettings) => UpstreamSettings = (upstream) => upstream,
): Promise<Started> {
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api' ? change({ ...one, healthCheck: { ...HEALTH, ...healthCheck } }) : one,
      ),
    }),
  })
  const answer: Started['answer'] = (reply) => replyToProbes(under.upstream, reply)
  return {
    under,
    answer,
    probes: () => probesOf(under.upstream).length,
    request: async () => (await send(`${under.gateway.url}/open/x`)).status,
    changes: () => under.log().filter(({ event }) => /^target_/.test(String(event))),
  }
}

function replyToProbes(upstream: RecordingUpstream, reply: string | ((socket: Socket) => void)): void {
  upstream.reply((socket, { target }) => {
    if (!target.includes('healthz')) socket.write(OK_REPLY)
    else if (typeof reply === 'string') socket.write(reply)
    else reply(socket)
  })
}

const probesOf = ({ requests }: RecordingUpstream) =>
  requests.filter(({ target }) => target.includes('healthz'))

const metricsOf = async ({ gateway }: GatewayUnderTest) =>
  (await send(`${gateway.managementUrl}/metrics`)).text

t.test('an unhealthy target gets no requests until its probes succeed again', async (t) => {
  const other = await startRecordingUpstream()
  t.teardown(() => other.close())
  const { under, answer, probes, request, changes } = await start(t, {}, (one) => ({
    ...anUpstream('api', ...one.urls, other.url),
    healthCheck: one.healthCheck,
  }))
  const forwarded = () => under.upstream.requests.length - probes()
  answer(UNAVAILABLE)
  await reached('the target is unhealthy', () => changes().length === 1)
  const target = under.upstream.url
  t.match(changes(), [
    {
      event: 'target_ejected',
      level: 'warn',
      upstream: 'api',
      target,
      reason: 'health_check',
      probe: 'status 503',
    },
  ])
  t.match(await metricsOf(under), `scopegate_upstream_target_healthy{upstream="api",target="${target}"} 0\n`)
  t.match(
    await metricsOf(under),
    `scopegate_upstream_target_healthy{upstream="api",target="${other.url}"} 1\n`,
  )
  t.match((await send(`${under.gateway.managementUrl}/readyz?verbose`)).text, `${target} of upstream api`)
  for (let at = 0; at < 10; at++) t.equal(await request(), 200)
  t.equal(forwarded(), 0)
  const failures = probes()
  await reached('more failures', () => probes() > failures + 2)
  t.equal(changes().length, 1, 'one line per change')

  answer(OK_REPLY)
  await reached('the target is healthy', () => changes().length === 2)
  t.match(changes()[1], {
    event: 'target_back',
    level: 'info',
    target,
    reason: 'health_check',
    probe: 'status 200',
  })
  for (let at = 0; at < 10; at++) t.equal(await request(), 200)
  t.equal(forwarded(), 5)
  const metrics = await metricsOf(under)
  t.match(metrics, `scopegate_upstream_target_healthy{upstream="api",target="${target}"} 1\n`)
  for (const result of ['success', 'status'])
    t.match(
      metrics,
      `scopegate_upstream_health_checks_total{upstream="api",target="${target}",result="${result}"}`,
    )
})

t.test('without a healthy target, requests and the queue get 503', async (t) => {
  const { under, answer, request, changes } = await start(t, {}, (one) => ({
    ...one,
    connections: { max: 1, maxPending: 1, queueTimeoutMs: 600_000 },
  }))
  let held: Socket | undefined
  let isHealthy = true
  under.upstream.reply((socket, { target }) => {
    if (!target.includes('healthz')) held = socket
    else socket.write(isHealthy ? OK_REPLY : UNAVAILABLE)
  })
  const open = request()
  await reached('the open request', () => held !== undefined)
  const queued = request()
  await reached('the queued request', async () =>
    (await metricsOf(under)).includes('scopegate_upstream_pending_requests{upstream="api"} 1\n'),
  )
  isHealthy = false
  t.equal(await queued, 503)
  const rejected = await send(`${under.gateway.url}/open/x`)
  t.equal(rejected.status, 503)
  t.match(rejected.text, 'upstream_unavailable')
  t.match(await metricsOf(under), 'scopegate_upstream_up{upstream="api"} 0\n')
  held?.write(OK_REPLY)
  t.equal(await open, 200, 'an open request continues')
  t.equal(await request(), 503, 'the response to an earlier request does not end the ejection')
  t.equal(changes().length, 1)
  answer(OK_REPLY)
  await reached('the target is healthy', () => changes().length === 2)
  t.equal(await request(), 200)
})

t.test('a probe has no credential and no data of a client', async (t) => {
  const { under, probes, request } = await start(t, {}, (one) => ({
    ...one,
    urls: one.urls.map((url) => `${url}/base`),
    credentials: { kind: 'header', name: 'X-Api-Key', file: '/none', secret: 'secret', setting: 'valueFile' },
  }))
  t.equal(await request(), 200)
  await reached('a later probe', () => probes() > 1)
  t.same(new Set(probesOf(under.upstream).map((one) => JSON.stringify(one))).size, 1)
  t.same(probesOf(under.upstream)[0], {
    method: 'GET',
    target: '/base/healthz?full=1',
    headers: [
      ['host', under.upstream.url.slice('http://'.length)],
      ['connection', 'keep-alive'],
      ['user-agent', 'scopegate-health-check'],
      ['accept', '*/*'],
    ],
    body: '',
  })
})

t.test('a probe fails without a complete response in time, and only one probe is open', async (t) => {
  const { under, answer, probes, changes } = await start(t, { timeoutMs: 100 })
  let open = 0
  let most = 0
  answer((socket) => {
    open += 1
    most = Math.max(most, open)
    socket.once('close', () => {
      open -= 1
    })
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')
  })
  await reached('the target is unhealthy', () => changes().length === 1)
  t.match(changes(), [{ event: 'target_ejected', probe: 'timeout' }])
  const failures = probes()
  await reached('more probes', () => probes() > failures + 1)
  t.equal(most, 1)
  t.match(await metricsOf(under), 'result="timeout"')
})

t.test('a probe with more than 32 interim responses fails', async (t) => {
  const { answer, probes, changes } = await start(t)
  const answerAfter = (interimResponses: number) =>
    answer((socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(interimResponses) + OK_REPLY))
  answerAfter(32)
  const before = probes()
  await reached('more probes', () => probes() > before + 3)
  t.same(changes(), [])
  answerAfter(33)
  await reached('the target is unhealthy', () => changes().length === 1)
  t.match(changes(), [{ event: 'target_ejected', probe: 'protocol' }])
})

t.test('a probe fails if the complete response takes too long, although parts arrive in time', async (t) => {
  const { answer, changes } = await start(t, { timeoutMs: 200 })
  answer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 64000\r\n\r\n')
    const parts = setInterval(() => socket.write('x'), 10)
    socket.once('close', () => clearInterval(parts))
  })
  await reached('the target is unhealthy', () => changes().length === 1)
  t.match(changes(), [{ event: 'target_ejected', probe: 'timeout' }])
})

t.test('a probe reads at most 64 KiB of an endless response, and its status counts', async (t) => {
  const { under, answer, probes, changes } = await start(t, { statuses: [418] })
  let longest = 0
  answer((socket) => {
    const chunk = Buffer.alloc(16 * 1024, 'x')
    socket.write('HTTP/1.1 418 Teapot\r\n\r\n')
    const write = () => {
      while (!socket.destroyed && socket.write(chunk));
    }
    socket.on('drain', write).once('close', () => {
      longest = Math.max(longest, socket.bytesWritten)
    })
    write()
  })
  await reached('three probes', () => probes() > 3 && longest > 0)
  t.same(changes(), [])
  t.match(await metricsOf(under), 'result="success"')
})

t.test('an ejection after failed requests ends by a trial, not by a successful probe', async (t) => {
  const { under, request, changes } = await start(t, {}, (one) => ({
    ...one,
    ejection: { failures: 1, longestPauseMs: 30_000 },
  }))
  under.upstream.reply((socket, { target }) => {
    if (target.includes('healthz')) socket.write(OK_REPLY)
    else socket.destroy()
  })
  t.equal(await request(), 502)
  t.match(changes(), [{ event: 'target_ejected', reason: 'requests' }])
  const before = probesOf(under.upstream).length
  await reached('more probes', () => probesOf(under.upstream).length > before + 3)
  t.equal(changes().length, 1)
  under.upstream.reply(OK_REPLY)
  await reached('a successful trial', async () => (await request()) === 200)
  t.match(changes()[1], { event: 'target_back', reason: 'requests' })
})

t.test('a closed health check starts no further probe', async (t) => {
  const started = new Set<string>()
  const start = (name: string): HealthCheck =>
    new HealthCheck({
      ...HEALTH,
      random: () => 1,
      openPool() {
        started.add(name)
        return { dispatch: () => undefined, destroy: async () => undefined } as unknown as ConnectionPool
      },
      onProbed: () => undefined,
      onChange: () => undefined,
    })
  start('closed').close()
  const open = start('open')
  t.teardown(() => open.close())
  await reached('a later probe', () => started.has('open'))
  t.same([...started], ['open'])
})

t.test('a reload of the policies does not add probes, and a shutdown ends the probes', async (t) => {
  const { under, answer, probes } = await start(t, { timeoutMs: 600_000 })
  const other = await start(t)
  await reached('the first probe', () => probes() > 0)
  const reload = await fetch(`${under.gateway.managementUrl}/reload`, { method: 'POST' })
  t.equal(reload.status, 200)
  const held: Socket[] = []
  answer((socket) => held.push(socket))
  await reached('an open probe', () => held.length > 0)
  let closed = false
  held[0]?.once('close', () => {
    closed = true
  })
  /** Waits for several probes of another gateway with the same interval. */
  const severalIntervals = async () => {
    const before = other.probes()
    await reached('the probes of another gateway', () => other.probes() > before + 5)
  }
  await severalIntervals()
  t.equal(held.length, 1)
  await under.gateway.close()
  await reached('the end of the open probe', () => closed)
  const { connections } = under.upstream
  await severalIntervals()
  t.equal(under.upstream.connections, connections)
})

t.test(
  'a target that is down at the start becomes unhealthy, also with an invalid certificate',
  async (t) => {
    const { cert, key } = aCertificate()
    const untrusted = createTlsServer({ cert, key }).on('tlsClientError', () => undefined)
    const closed = createServer()
    const ports: number[] = []
    for (const server of [untrusted, closed]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      ports.push((server.address() as { port: number }).port)
    }
    closed.close()
    t.teardown(() => untrusted.close())
    const urls = [`https://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`]
    const { under, changes } = await start(t, {}, (one) => ({ ...one, urls }))
    await reached('both targets are unhealthy', () => changes().length === 2)
    const probeOf = (target: string | undefined) =>
      changes().find((line) => line['target'] === target)?.['probe']
    t.equal(probeOf(urls[0]), 'tls')
    t.equal(probeOf(urls[1]), 'connect')
    t.equal((await send(`${under.gateway.url}/open/x`)).status, 503)
  },
)
