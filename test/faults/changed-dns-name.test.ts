import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { startNameServer } from '../fixtures/name-server.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

/** The gateway resolves names again every 5 s. A busy machine needs more time. */
const LONG_MS = 60_000

// On Linux, every address in 127.0.0.0/8 is a loopback address. On other systems, 127.0.0.2 needs configuration.
const skip = process.platform === 'linux' ? false : '127.0.0.2 is not an address of this machine'

t.test(
  'requests follow a changed DNS name, and a name that fails to resolve keeps its address',
  { skip },
  async (t) => {
    const names = await startNameServer()
    t.teardown(() => names.close())
    names.knows(['127.0.0.1'])
    const under = await startGatewayUnderTest(t, {
      resolve: names.resolve,
      change: (config) => ({
        ...config,
        upstreams: config.upstreams.map((one) => ({
          ...one,
          urls: one.urls.map((url) => url.replace('127.0.0.1', 'api.test')),
        })),
      }),
    })
    const { upstream: first } = under
    const port = Number(new URL(first.url).port)
    const second = await startRecordingUpstream({ host: '127.0.0.2', port })
    t.teardown(() => second.close())
    const ask = async (): Promise<void> => {
      const { status } = await fetch(`${under.gateway.url}/pub/x`)
      if (status !== 200) t.fail(`status ${status}`)
    }

    await ask()
    t.equal(first.requests.length, 1)
    t.match(first.seen('host'), [`api.test:${port}`])
    t.equal(second.connections, 0)

    names.knows(['127.0.0.2'])
    await until(
      'a request at the new address',
      async () => {
        await ask()
        return second.requests.length > 0
      },
      LONG_MS,
    )
    const before = first.requests.length
    for (let i = 0; i < 20; i++) await ask()
    t.equal(first.requests.length, before, 'the old address gets no more requests')

    // Sends concurrent requests. The requests need new connections, so the gateway uses a new address.
    const askedAgain = (before: number) => async () => {
      await Promise.all(Array.from({ length: 5 }, ask))
      return names.questions > before
    }
    names.knows(undefined)
    await until('a lookup fails', askedAgain(names.questions), LONG_MS)
    names.fallSilent()
    await until('another lookup gets no response', askedAgain(names.questions), LONG_MS)
    await Promise.all(Array.from({ length: 20 }, ask))
    t.equal(first.requests.length, before)
  },
)
