import t from 'tap'
import { createHistory, MAX_POINTS, POINT_MS } from '../../../gateway/console/history.ts'
import { quantileMs } from '../../../gateway/console/overview-page.ts'
import { failingSince, recentRoutes, toTraffic } from '../../../gateway/console/route-traffic.ts'
import type { Counts, RouteCounts, Sample } from '../../../gateway/console/sample.ts'
import { HTTP_BUCKETS } from '../../../platform/http-labels.ts'

const EMPTY: Counts = {
  routes: [],
  upstreams: [],
  issuers: [],
  latency: [],
  cacheHits: 0,
  cacheMisses: 0,
  revocations: 0,
  revocationGaps: 0,
  redisFallbacks: { rateLimits: 0, tokenLookups: 0, proofs: 0 },
  reloads: { success: 0, failure: 0 },
}

function aSample(
  routes: Readonly<Record<string, Partial<RouteCounts>>>,
  counts: Partial<Counts> = {},
): Sample {
  const complete = Object.entries(routes).map(([name, one]): [string, RouteCounts] => [
    name,
    { requests: 0, failed: 0, seconds: 0, denied: {}, ...one },
  ])
  return { counts: { ...EMPTY, routes: complete, ...counts }, gauges: [] }
}

const OK = [{ kind: 'issuer_keys', name: 'keys', ok: true }] as const
const DEGRADED = [{ ...OK[0], degraded: true }] as const

t.test('the samples of all processes in a period are one point', async (t) => {
  const history = createHistory(0)
  history.add(
    [
      aSample({ a: { requests: 3, failed: 1, seconds: 0.5, denied: { expired: 1 } } }, { cacheHits: 2 }),
      aSample({ a: { requests: 2, denied: { expired: 1 } }, b: { requests: 1 } }, { latency: [1, 2] }),
    ],
    OK,
    2_000,
  )
  history.add([aSample({ a: { requests: 1 } }, { latency: [1] })], OK, 4_000)
  const [point] = history.points
  t.equal(history.points.length, 1)
  t.match(point, {
    startMs: 0,
    endMs: 4_000,
    totals: { requests: 7, failed: 1, denied: 2, denials: { expired: 2 }, latency: [2, 2], cacheHits: 2 },
  })
  t.strictSame(toTraffic(recentRoutes(history).get('a')), {
    requests: 6,
    denied: 2,
    failed: 1,
    denials: { expired: 2 },
    meanMs: 500 / 6,
  })
  t.equal(toTraffic(recentRoutes(history).get('c')).meanMs, undefined)
})

t.test('a point keeps the sum of failures and the largest number of failing checks', async (t) => {
  const history = createHistory(0)
  const kinds = ['revocation_stream', 'policies', 'policy_source', 'redis'] as const
  const failing = kinds.map((kind) => ({ kind, name: `the ${kind}`, ok: true, degraded: true }))
  const counts = {
    redisFallbacks: { rateLimits: 1, tokenLookups: 2, proofs: 3 },
    reloads: { success: 1, failure: 2 },
    revocations: 1,
  }
  history.add([aSample({}, counts), aSample({}, counts)], failing, 2_000)
  history.add([aSample({})], [], 4_000)
  t.match(history.points[0]?.totals, {
    redisFallbacks: { rateLimits: 2, tokenLookups: 4, proofs: 6 },
    reloads: { success: 2, failure: 4 },
    failingStreams: 1,
    failingPolicies: 2,
  })
  t.match(history, { lastRevocationMs: 2_000, lastReloadMs: 2_000 })
})

t.test('the history is bounded, and the last minute contains all routes', async (t) => {
  const history = createHistory(0)
  const routes = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`r${index}`, { requests: 1 }]))
  for (let index = 1; index <= MAX_POINTS + 20; index += 1)
    history.add([aSample({ ...routes, broken: { requests: 1, failed: 1 } })], OK, index * POINT_MS)
  t.equal(history.points.length, MAX_POINTS)
  t.equal(history.points.at(-1)?.routes.size, 501)
  t.equal(history.points[0]?.routes.size, 100)
  t.ok(
    history.points.every(({ routes }) => routes.has('broken')),
    'older points keep the failing routes',
  )
  t.equal(recentRoutes(history).get('r7')?.requests, 6)
})

t.test('the start of a problem is the first bad sample after the last good sample', async (t) => {
  const history = createHistory(0)
  history.add([aSample({ a: { requests: 1 } })], OK, 10_000)
  t.equal(history.unhealthySinceMs('keys'), undefined)
  history.add([aSample({ a: { requests: 1, failed: 1 } })], DEGRADED, 20_000)
  history.add([aSample({})], DEGRADED, 30_000)
  history.add([aSample({ a: { requests: 1, failed: 1 } })], DEGRADED, 40_000)
  t.equal(history.unhealthySinceMs('keys'), 20_000)
  const counts = ({ routes }: (typeof history.points)[number]) => {
    const route = routes.get('a')
    return route && { all: route.requests, failed: route.failed }
  }
  t.equal(failingSince(history.points, counts), 10_000, 'the point begins at the end of the point before')
  history.add([aSample({ a: { requests: 5 } })], OK, 50_000)
  t.equal(failingSince(history.points, counts), null)
  t.equal(history.unhealthySinceMs('keys'), undefined)
  history.add([], [], 60_000)
  t.equal(history.unhealthySinceMs('keys'), undefined)
})

t.test('quantiles are upper bounds of buckets', async (t) => {
  t.equal(quantileMs([], 0.95), null)
  t.equal(quantileMs([99, 1], 0.95), 5)
  t.equal(quantileMs([99, 1], 0.999), 10)
  t.equal(quantileMs([...HTTP_BUCKETS.map(() => 0), 1], 0.5), Number.POSITIVE_INFINITY)
})
