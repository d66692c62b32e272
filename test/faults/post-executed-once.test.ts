import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { measurePostsOnce } from '../../bench/soak/posts-once.ts'
import { startCountingUpstream } from '../../bench/soak/start-counting-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'

/** A connection breaks after at most this number of bytes: about the size of a few requests and responses. */
const LONGEST_LIFE_BYTES = 4_000

// `npm run soak:lossy` runs ten times as many requests, in a network with packet loss.
t.test(
  'executes each POST at most once when connections break at any byte in either direction',
  async (t) => {
    const cleanup = createCleanup()
    const folder = t.testdir()
    t.teardown(() => cleanup.run())
    const upstream = await startCountingUpstream(cleanup)
    const proxy = await startFaultProxy(upstream.url)
    cleanup.add(proxy.close)
    const gateway = await startSoakGateway({
      folder,
      cleanup,
      upstream: proxy.url,
      upstreamSettings: { ejection: { failures: 1_000 } }, // an ejected upstream would get no connections
      route: { retries: { attempts: 3, on: ['connect', 'reset', 503] } },
    })
    const anyByte = (): number => 1 + Math.floor(Math.random() * LONGEST_LIFE_BYTES)
    const rows = await measurePostsOnce({
      url: gateway.url,
      upstream,
      calls: 1_000,
      concurrency: 10,
      beforeCall() {
        proxy.toTarget({ resetAfterBytes: anyByte() })
        proxy.toClient(Math.random() < 0.5 ? { resetAfterBytes: anyByte() } : { closeAfterBytes: anyByte() })
      },
    })
    for (const { what, measured, limit, passed } of rows)
      if (passed !== undefined) t.ok(passed, `${what}: ${measured}, ${limit} wanted`)
    const outcome = (status: string): number =>
      Number(rows.find(({ what }) => what.endsWith(` ${status}`))?.measured ?? 0)
    t.ok(outcome('201') > 0, `${outcome('201')} were answered`)
    t.ok(outcome('502') > 0, `${outcome('502')} were not, because the connection broke`)
    t.equal(outcome('503'), 0, 'no request met an ejected address')
    t.ok(proxy.connections > 100, `over ${proxy.connections} connections`)
  },
)
