import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'
import { openWebsocket } from '../fixtures/websocket-client.ts'
import { startWebsocketUpstream } from '../fixtures/websocket-upstream.ts'

const SESSIONS = 20

t.test('open WebSockets stay with their worker while every worker is replaced', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const upstream = await startWebsocketUpstream()
  cleanup.add(upstream.close)
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: upstream.url,
    route: { match: { methods: ['GET'], path: '/pub/**' }, websocket: true },
    settings: { workers: 2, drain: { delay: '0s', grace: '60s' } }, // longer than the duration of the test
  })
  const clients = await Promise.all(
    Array.from({ length: SESSIONS }, () => openWebsocket(`${gateway.url}/pub/live`)),
  )
  const old = childrenOf(gateway.process.pid)
  process.kill(gateway.process.pid, 'SIGUSR2')
  await until('a third worker', async () => childrenOf(gateway.process.pid).length > old.length)
  for (let round = 0; round < 20; round++) {
    for (const { socket } of clients) socket.send(`round ${round}`)
    await until(`echo ${round}`, async () =>
      clients.every(({ messages }) => messages.at(-1) === `round ${round}`),
    )
  }
  // The first old worker exits after its last session. Then the second old worker drains.
  for (const { socket } of clients) socket.close(1000)
  for (const { closed } of clients) t.match(await closed, { code: 1000 })
  await until(
    'all old workers are gone',
    async () => old.every((worker) => !childrenOf(gateway.process.pid).includes(worker)),
    120_000,
  )
  await until('the upstream has received each Close frame', async () => upstream.closes.length === SESSIONS)
  t.ok(upstream.closes.every((code) => code === 1000))
})
