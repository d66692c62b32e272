import { once } from 'node:events'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { createUpstream, type UpstreamSettings } from '../../gateway/upstreams/upstream.ts'
import { aCertificate, type TestCertificate } from '../fixtures/a-certificate.ts'
import { anUpstream, type GatewayUnderTest, NO_ACCESS, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { type NameServer, startNameServer } from '../fixtures/name-server.ts'
import { OK_REPLY, type RecordingUpstream, startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

/** The gateway resolves records again every 5 s. A busy machine needs more time. */
const LONG_MS = 60_000

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: allow, timeout: 20s }
routes:
  - { name: open, match: { methods: [GET], path: "/pub/**" } }
`

t.jobs = 2 // each test starts its own gateway and needs little CPU time

async function start(
  t: Test,
  names: NameServer,
  change: Partial<UpstreamSettings> = {},
): Promise<GatewayUnderTest & { readonly request: () => Promise<number> }> {
  names.knows(['127.0.0.1'])
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    resolve: names.resolve,
    resolveSrv: names.resolveSrv,
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) =>
        one.name === 'api'
          ? {
              ...one,
              urls: ['http://_http._tcp.api.test/base'],
              isSrv: true,
              ejection: { failures: 1, longestPauseMs: 600_000 },
              ...change,
            }
          : one,
      ),
    }),
  })
  return { ...under, request: async () => (await send(`${under.gateway.url}/pub/x`)).status }
}

async function aNameServer(t: Test): Promise<NameServer> {
  const names = await startNameServer()
  t.teardown(() => names.close())
  return names
}

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port)

t.test('requests follow the priority, the weight and the changes of SRV records', async (t) => {
  const names = await aNameServer(t)
  const upstreams: RecordingUpstream[] = []
  for (let i = 0; i < 4; i++) {
    const upstream = await startRecordingUpstream()
    t.teardown(() => upstream.close())
    upstreams.push(upstream)
  }
  const [first, second, third, fourth] = upstreams as [
    RecordingUpstream,
    RecordingUpstream,
    RecordingUpstream,
    RecordingUpstream,
  ]
  names.knowsSrv([
    { name: 'a.test', port: portOf(first), priority: 1, weight: 3 },
    { name: 'b.test', port: portOf(second), priority: 1, weight: 1 },
    { name: 'c.test', port: portOf(third), priority: 2, weight: 1 },
  ])
  const { request, gateway, log } = await start(t, names)
  for (let i = 0; i < 8; i++) t.equal(await request(), 200)
  t.same(
    upstreams.map(({ requests }) => requests.length),
    [6, 2, 0, 0],
  )
  t.match(first.seen('host'), [`a.test:${portOf(first)}`])
  t.equal(first.requests[0]?.target, '/base/pub/x')

  await first.close()
  await second.close()
  await until('the next priority gets the requests', async () => (await request()) === 200)
  t.ok(third.requests.length > 0)

  const held: Socket[] = []
  third.reply((socket) => held.push(socket))
  const open = request()
  await until('the request arrives', async () => held.length === 1)
  third.reply(OK_REPLY)
  names.knowsSrv([{ name: 'd.test', port: portOf(fourth), priority: 1, weight: 0 }])
  await until(
    'the new target gets a request',
    async () => (await request()) === 200 && fourth.requests.length > 0,
    LONG_MS,
  )
  held[0]?.write(OK_REPLY)
  t.equal(await open, 200, 'an open request to a removed target continues')
  const before = third.requests.length
  names.knowsSrv(undefined)
  const verbose = async (): Promise<string> => (await send(`${gateway.managementUrl}/readyz?verbose`)).text
  await until(
    'a lookup fails',
    async () => /SRV records of upstream api.*ESERVFAIL/.test(await verbose()),
    LONG_MS,
  )
  t.equal(await request(), 200, 'the last targets stay in use')
  t.equal(third.requests.length, before)
  t.match(
    (await send(`${gateway.managementUrl}/metrics`)).text,
    /scopegate_upstream_srv_lookups_total\{upstream="api",result="failed"\} [1-9]/,
  )

  names.knowsSrv([{ name: '.', port: 0, priority: 0, weight: 0 }])
  await until('the upstream has no target', async () => (await request()) === 503, LONG_MS)
  t.match(
    log().flatMap(({ event, targets }) => (event === 'upstream_targets_changed' ? [targets] : [])),
    [3, 1, 0],
  )
  t.equal(log().filter(({ event }) => event === 'upstream_srv_failed').length, 1)
})

t.test('the certificate must have the name of the target, which is also the name in SNI', async (t) => {
  const authority = aCertificate({ authority: true })
  const seen: unknown[] = []
  const startTls = async ({ cert, key }: TestCertificate): Promise<number> => {
    const server = createServer({ cert, key }, (request, response) => {
      seen.push((request.socket as TLSSocket & { servername: string }).servername)
      response.end('ok')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return (server.address() as { port: number }).port
  }
  const port = await startTls(aCertificate({ by: authority, names: ['a.test', '_https._tcp.api.test'] }))
  for (const [name, status] of [
    ['a.test', 200],
    ['b.test', 502],
  ] as const) {
    const names = await aNameServer(t)
    names.knowsSrv([{ name, port, priority: 0, weight: 0 }])
    const { request } = await start(t, names, {
      urls: ['https://_https._tcp.api.test'],
      ca: authority.cert,
    })
    t.equal(await request(), status, name)
  }
  t.same(seen, ['a.test'])
})

t.test('a removed target has no series, and does not follow the client certificate', async (t) => {
  let records = [{ name: 'a.test', port: 80, priority: 0, weight: 0 }]
  let lookups: AbortSignal | undefined
  const removed: string[] = []
  const listeners = new Set<unknown>()
  const { cert, key } = aCertificate()
  const silent = () => undefined
  const upstream = createUpstream(
    { ...anUpstream('api', 'http://_http._tcp.api.test'), isSrv: true },
    {
      meter: {
        responded: silent,
        failed: silent,
        retried: silent,
        probed: silent,
        lookedUp: silent,
        removed: (target) => void removed.push(target),
      },
      resolve: async () => [],
      resolveSrv: async (_name, signal) => {
        lookups = signal
        return records
      },
      access: {
        ...NO_ACCESS,
        certificate: {
          current: { cert, key, names: '', fingerprint: '', expiresAtMs: 0 },
          onChange(listener) {
            listeners.add(listener)
            return () => void listeners.delete(listener)
          },
          problem: undefined,
          check: async () => undefined,
          close: silent,
        },
      },
      readsEarlyResponses: false,
      workers: 1,
      tickMs: () => performance.now(),
      logger: { info: silent, warn: silent },
    },
  )
  t.teardown(() => upstream.close())
  await upstream.srv?.first
  records = [{ name: 'b.test', port: 80, priority: 0, weight: 0 }]
  await until('the target is removed', async () => removed.length > 0, LONG_MS)
  t.same(removed, ['http://a.test'])
  t.same(
    upstream.targets.all.map(({ origin }) => origin),
    ['http://b.test'],
  )
  t.equal(listeners.size, 1)
  await upstream.retire()
  t.equal(listeners.size, 0, 'a retired upstream does not follow its certificate')
  t.equal(lookups?.aborted, true, 'a retired upstream does not follow its records')
})
