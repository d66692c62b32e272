import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createOpenapiDocuments } from '../../../gateway/discovery/openapi-document.ts'
import type { Target } from '../../../gateway/upstreams/target.ts'
import { createUpstream, type Upstream, type UpstreamSettings } from '../../../gateway/upstreams/upstream.ts'
import { createFailureLog } from '../../../platform/logging/failure-log.ts'
import { systemAddresses } from '../../../platform/net/resolve-name.ts'
import { anUpstream, NO_ACCESS } from '../../fixtures/a-gateway.ts'

const SECOND = 1_000
const silent = () => undefined

async function startDescribed(
  t: Test,
  name: string,
  respond: RequestListener,
  change: (url: string) => Partial<UpstreamSettings> = () => ({}),
) {
  let fetches = 0
  const server = createServer((request, response) => {
    fetches += 1
    respond(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const settings = {
    ...anUpstream(name, `http://127.0.0.1:${port}`),
    openapiPath: '/openapi.json',
    ...change(`http://127.0.0.1:${port}`),
  }
  const upstream = createUpstream(settings, {
    meter: {
      responded: silent,
      failed: silent,
      retried: silent,
      probed: silent,
      lookedUp: silent,
      removed: silent,
    },
    resolve: systemAddresses,
    resolveSrv: async () => [],
    access: NO_ACCESS,
    readsEarlyResponses: false,
    workers: 1,
    tickMs: () => performance.now(),
    logger: { info: silent, warn: silent },
  })
  t.teardown(() => upstream.close())
  return { upstream, fetches: () => fetches }
}

function setUp(t: Test, active: Upstream[]) {
  const clock = { nowMs: 0 }
  const failures = createFailureLog({ warn: silent, error: silent })
  const documents = createOpenapiDocuments({
    baseUrl: 'https://api.test',
    name: 'Test',
    version: '1',
    bundledAuthorizationServer: false,
    upstreams: { active },
    failures,
    tickMs: () => clock.nowMs,
  })
  t.teardown(() => {
    documents.close()
    failures.close()
  })
  return {
    refreshAt: (seconds: number) => {
      clock.nowMs = seconds * SECOND
      return documents.refresh()
    },
  }
}

t.test('fetches only a failed document again, after pauses that grow to five minutes', async (t) => {
  const healthy = await startDescribed(t, 'healthy', (_request, response) =>
    response.end('{"openapi":"3.1.0","paths":{}}'),
  )
  const broken = await startDescribed(t, 'broken', (_request, response) => response.writeHead(500).end())
  const { refreshAt } = setUp(t, [healthy.upstream, broken.upstream])
  const fetchedAt: number[] = []
  for (let seconds = 0; seconds < 1_000; seconds += 1) {
    const before = broken.fetches()
    await refreshAt(seconds)
    if (broken.fetches() > before) fetchedAt.push(seconds)
  }
  t.same(fetchedAt, [0, 5, 15, 35, 75, 155, 315, 615, 915])
  t.equal(healthy.fetches(), 4, 'every five minutes')
})

t.test('fetches a document at the normal time again after it was fetched', async (t) => {
  let status = 500
  const recovering = await startDescribed(t, 'recovering', (_request, response) =>
    response.writeHead(status).end('{"openapi":"3.1.0","paths":{}}'),
  )
  const { refreshAt } = setUp(t, [recovering.upstream])
  await refreshAt(0)
  status = 200
  await refreshAt(5)
  t.equal(recovering.fetches(), 2)
  await refreshAt(304)
  t.equal(recovering.fetches(), 2)
  status = 500
  await refreshAt(305)
  await refreshAt(310)
  t.equal(recovering.fetches(), 4, 'the pause is short again after a success')
})

t.test('fetches the document of an added upstream immediately', async (t) => {
  const respond: RequestListener = (_request, response) => response.end('{"openapi":"3.1.0","paths":{}}')
  const first = await startDescribed(t, 'first', respond)
  const added = await startDescribed(t, 'added', respond)
  const active = [first.upstream]
  const { refreshAt } = setUp(t, active)
  await refreshAt(0)
  active.push(added.upstream)
  await refreshAt(1)
  t.same([first.fetches(), added.fetches()], [1, 1])
})

t.test(
  'a fetch counts against the limit of connections, and waits while all connections are busy',
  async (t) => {
    const busy = await startDescribed(
      t,
      'busy',
      (_request, response) => response.end('{"openapi":"3.1.0"}'),
      () => ({
        connections: { max: 1, maxPending: 0, queueTimeoutMs: 1_000 },
      }),
    )
    const [target] = busy.upstream.targets.all as readonly [Target]
    const { refreshAt } = setUp(t, [busy.upstream])
    target.started(performance.now())
    await refreshAt(0)
    t.equal(busy.fetches(), 0)
    target.ended(undefined)
    await refreshAt(5)
    t.equal(busy.fetches(), 1)
    t.equal(busy.upstream.targets.openConnections, 1, 'the connection is one of the pool')
    t.equal(target.outstanding, 0)
  },
)

t.test('a fetch does not change the distribution of requests by weights', async (t) => {
  const { upstream, fetches } = await startDescribed(
    t,
    'weighted',
    (_request, response) => response.end('{"openapi":"3.1.0"}'),
    (url) => ({ weights: [1, 1], urls: [url, url] }),
  )
  const { refreshAt } = setUp(t, [upstream])
  t.equal(upstream.targets.all.length, 2)
  const first = upstream.targets.choose()
  await refreshAt(0)
  t.equal(fetches(), 1)
  t.not(upstream.targets.choose(), first)
  t.equal(upstream.targets.choose(), first)
})
