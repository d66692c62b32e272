import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { soakCrash } from '../../bench/soak/soak-crash.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

async function start(t: Test): Promise<SoakGateway> {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const upstream = createServer((_request, response) => response.end('{}'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  cleanup.add(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  return startSoakGateway({
    folder,
    cleanup,
    upstream: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    settings: { workers: 2 },
  })
}

const requests = async (gateway: SoakGateway): Promise<number> =>
  sumSamples(await scrape(gateway), 'scopegate_http_requests_total')

/** Ignores a missing process, because a killed worker may have exited since the lookup. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function scrape(gateway: SoakGateway): Promise<string> {
  return (await fetch(`${gateway.managementUrl}/metrics`)).text()
}

t.test('a killed worker is replaced while the other worker serves requests', async (t) => {
  const gateway = await start(t)
  const { pid } = gateway.process
  const [victim, other] = childrenOf(pid)
  t.type(victim, 'number')
  for (let one = 0; one < 10; one++) t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
  await until('the metrics contain the counts of both workers', async () => (await requests(gateway)) === 10)

  process.kill(victim as number, 'SIGKILL')
  await until('the killed worker has exited', async () => !childrenOf(pid).includes(victim as number))
  const ready = await fetch(`${gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200, 'the gateway is ready with one worker')
  // The request uses a new connection, because the connections of a killed worker are broken.
  const answer = await fetch(`${gateway.url}/pub/x`, { headers: { connection: 'close' } }).catch(() =>
    fetch(`${gateway.url}/pub/x`, { headers: { connection: 'close' } }),
  )
  t.equal(answer.status, 200)
  await until('there are two workers again', async () => {
    const verbose = await (await fetch(`${gateway.managementUrl}/readyz?verbose`)).text()
    return verbose.includes('[+] workers: 2 of 2 ready')
  })
  t.ok(childrenOf(pid).includes(other as number), 'the other worker still runs')
  await until(
    'the metrics contain the counts of the killed worker',
    async () => (await requests(gateway)) === 11,
  )
  t.match(await scrape(gateway), /scopegate_worker_starts_total\{reason="crash"\} 1\n/)
})

t.test('delays restarts of workers that crash repeatedly, and reports not ready', async (t) => {
  const gateway = await start(t)
  const { pid } = gateway.process
  const starts = async (): Promise<number> =>
    sumSamples(await scrape(gateway), 'scopegate_worker_starts_total')
  // Kills every new worker until readiness fails.
  await until(
    'readiness turns',
    async () => {
      for (const worker of childrenOf(pid)) killIfThere(worker)
      return (await starts()) >= 6 && (await fetch(`${gateway.managementUrl}/readyz`)).status === 503
    },
    120_000,
  )
  t.ok((await starts()) < 40, 'restarts are delayed')
  t.equal((await fetch(`${gateway.managementUrl}/livez`)).status, 200)
  // After the last kill, the gateway recovers without intervention.
  await until(
    'the gateway is ready again',
    async () => (await fetch(`${gateway.managementUrl}/readyz`)).ok,
    120_000,
  )
  t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
})

t.test('all workers sign assertions with one key, replacements included', async (t) => {
  const gateway = await start(t)
  const { pid } = gateway.process
  const keys = async (): Promise<string> =>
    (
      await fetch(`${gateway.url}/.well-known/scopegate/jwks.json`, { headers: { connection: 'close' } })
    ).text()
  const first = await keys()
  t.match(first, '"kid"')
  for (let one = 0; one < 4; one++) t.equal(await keys(), first, 'every worker publishes the same keys')
  const victims = childrenOf(pid)
  for (const victim of victims) process.kill(victim, 'SIGKILL')
  await until('two new workers run', async () => {
    const now = childrenOf(pid)
    return now.length === 2 && now.every((one) => !victims.includes(one))
  })
  t.equal(await until('an answer', () => keys().catch(() => undefined)), first)
})

// `npm run soak:crash` runs this test with more requests and measures times.
t.test('a worker that is killed under load loses only its requests in flight', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const { counts, kills } = await soakCrash({ folder, cleanup, workers: 2, kills: 3, pauseMs: 1_000 })
  t.ok(counts.answered > 0, `${counts.answered} answered`)
  t.equal(kills.length, 3)
  for (const { connections, failed } of kills) {
    t.ok(connections > 1, 'the victim had connections')
    t.ok(failed <= connections, `${failed} lost, ${connections} connections`)
  }
})
