import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startBodyUpstream } from '../../bench/soak/start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

/** A module that throws an uncaught exception on a signal. */
const DEFECT = 'data:text/javascript,process.on("SIGWINCH",()=>{throw new Error("made up")})'

async function start(
  t: Pick<Test, 'testdir' | 'teardown'>,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<SoakGateway> {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const upstream = await startBodyUpstream(cleanup)
  return startSoakGateway({ folder, cleanup, upstream, settings, nodeOptions: ['--import', DEFECT] })
}

const status = async (gateway: SoakGateway): Promise<number | undefined> =>
  fetch(`${gateway.url}/pub/x?bytes=2`, { headers: { connection: 'close' } }).then(
    (answer) => answer.status,
    () => undefined,
  )

const metric = async (gateway: SoakGateway, name: string): Promise<number> =>
  sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), name)

const gateway = await start(t)

t.test('an uncaught exception does not end the process', async (t) => {
  for (let time = 1; time <= 3; time++) {
    process.kill(gateway.process.pid, 'SIGWINCH')
    await until(
      'the exception was thrown',
      async () => (await metric(gateway, 'scopegate_uncaught_total')) === time,
    )
    t.equal(await status(gateway), 200)
  }
  t.equal(gateway.process.child.exitCode, null)
})

t.test('a worker with an uncaught exception serves requests until it is replaced', async (t) => {
  const gateway = await start(t, { workers: 2 })
  const [worker] = childrenOf(gateway.process.pid)
  process.kill(worker as number, 'SIGWINCH')
  await until('the worker is replaced', async () => {
    t.equal(await status(gateway), 200)
    return !childrenOf(gateway.process.pid).includes(worker as number)
  })
  t.match(
    await (await fetch(`${gateway.managementUrl}/metrics`)).text(),
    /starts_total\{reason="replace"\} 1\n/,
  )
})

t.test('closes connections above the limit unread while the management port responds', async (t) => {
  const gateway = await start(t, { limits: { connections: 10 } })
  const { hostname, port } = new URL(gateway.url)
  const sockets = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const socket = connect(Number(port), hostname)
      t.teardown(() => socket.destroy())
      socket.on('error', () => undefined).resume()
      await once(socket, 'connect')
      return socket
    }),
  )
  await until(
    '20 were closed',
    async () => sockets.filter((socket) => socket.readableEnded || socket.closed).length === 20,
  )
  t.equal((await fetch(`${gateway.managementUrl}/livez`)).status, 200)
  t.equal(await metric(gateway, 'scopegate_connections_refused_total'), 20)
  for (const socket of sockets) socket.destroy()
  await until('there is room again', async () => (await status(gateway)) === 200)
})

t.test(
  'a process without free file descriptors stays up, and recovers when descriptors are free',
  async (t) => {
    const { pid } = gateway.process
    execFileSync('prlimit', ['--pid', String(pid), '--nofile=64:64'])
    const { hostname, port } = new URL(gateway.url)
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(Number(port), hostname)
      t.teardown(() => socket.destroy())
      return socket.on('error', () => undefined).resume()
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect').catch(() => undefined)))
    await until('some requests were rejected', async () =>
      sockets.some((socket) => socket.readableEnded || socket.closed),
    )
    t.equal(gateway.process.child.exitCode, null)
    for (const socket of sockets) socket.destroy()
    await until('the gateway serves requests again', async () => (await status(gateway)) === 200)
  },
)
