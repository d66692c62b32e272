import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startCountingUpstream } from '../../bench/soak/start-counting-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'

const CONNECTIONS = 30

for (const { busy, workers } of [
  { busy: 'process', workers: 1 },
  { busy: 'supervisor', workers: 2 },
  { busy: 'workers', workers: 2 },
])
  t.test(`after SIGTERM, the gateway accepts the connections in its queue (busy: ${busy})`, async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const upstream = await startCountingUpstream(cleanup)
    const gateway = await startSoakGateway({
      folder: t.testdir(),
      cleanup,
      upstream: upstream.url,
      settings: { workers, drain: { delay: '0s', grace: '60s' } }, // longer than the duration of the test
    })
    const { pid } = gateway.process
    const stopped = busy === 'workers' ? childrenOf(pid) : [pid]
    for (const one of stopped) process.kill(one, 'SIGSTOP')
    const sockets = Array.from({ length: CONNECTIONS }, () =>
      connect({ host: '127.0.0.1', port: Number(new URL(gateway.url).port) }),
    )
    for (const socket of sockets) t.teardown(() => socket.destroy())
    const responses = sockets.map(async (socket) => {
      socket.write('GET /pub/queued HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
      const [response] = await once(socket, 'data')
      return String(response).split('\r\n')[0]
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    process.kill(pid, 'SIGTERM')
    for (const one of stopped) process.kill(one, 'SIGCONT')
    t.strictSame(
      await Promise.all(responses),
      sockets.map(() => 'HTTP/1.1 201 Created'),
    )
    await gateway.process.ended
  })
