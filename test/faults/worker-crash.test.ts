import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { soakCrash } from '../../bench/soak/soak-crash.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

/** Starts the gateway of the first two tests. Each test waits until the gateway has all workers again. */
async function start(t: Pick<Test, 'testdir' | 'teardown'>): Promise<SoakGateway> {
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

const requests = async (): Promise<number> => sumSamples(await scrape(), 'scopegate_http_requests_total')

const keys = async (): Promise<string> => {
  const url = `${gateway.url}/.well-known/scopegate/jwks.json`
  return (await fetch(url, { headers: { connection: 'close' } })).text()
}

/** Kills a process. Ignores a missing process, because the process can exit before this call. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function scrape(): Promise<string> {
  return (await fetch(`${gateway.managementUrl}/metrics`)).text()
}

const gateway = await start(t)
const { pid } = gateway.process

t.test('replaces a killed worker while the other serves, and all workers sign with one key', async (t) => {
  const [victim, other] = childrenOf(pid)
  t.type(victim, 'number')
  for (let one = 0; one < 10; one++) t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
  const firstKeys = await keys()
  t.match(firstKeys, '"kid"')
  for (let one = 0; one < 4; one++)
    t.equal(await keys(), firstKeys, 'both workers sign assertions with one key')
  await until('the metrics contain the counts of both workers', async () => (await requests()) === 15)

  process.kill(victim as number, 'SIGKILL')
  await until('the killed worker has exited', async () => !childrenOf(pid).includes(victim as number))
  const ready = await fetch(`${gateway.managementUrl}/readyz?verbose`)
  t.equal(ready.status, 200, 'the gateway is ready with one worker')
  // The request needs a new connection, because the connections of a killed worker are broken.
  const answer = await fetch(`${gateway.url}/pub/x`, { headers: { connection: 'close' } }).catch(() =>
    fetch(`${gateway.url}/pub/x`, { headers: { connection: 'close' } }),
  )
  t.equal(answer.status, 200)
  await until('there are two workers again', async () => {
    const verbose = await (await fetch(`${gateway.managementUrl}/readyz?verbose`)).text()
    return verbose.includes('[+] workers: 2 of 2 ready')
  })
  t.ok(childrenOf(pid).includes(other as number), 'the other worker still runs')
  await until('the metrics contain the counts of the killed worker', async () => (await requests()) === 16)
  t.match(await scrape(), /scopegate_worker_starts_total\{reason="crash"\} 1\n/)
  for (let one = 0; one < 4; one++) t.equal(await keys(), firstKeys, 'the new worker signs with the same key')
})

t.test('delays restarts of workers that crash repeatedly, and is not ready', async (t) => {
  const starts = async (): Promise<number> => sumSamples(await scrape(), 'scopegate_worker_starts_total')
  const before = await starts()
  // Kills every new worker until readiness fails.
  await until(
    'readiness turns',
    async () => {
      for (const worker of childrenOf(pid)) killIfThere(worker)
      return (await starts()) >= before + 4 && (await fetch(`${gateway.managementUrl}/readyz`)).status === 503
    },
    120_000,
  )
  t.ok((await starts()) < before + 38, 'restarts are delayed')
  t.equal((await fetch(`${gateway.managementUrl}/livez`)).status, 200)
  // After the last kill, the gateway recovers without intervention.
  await until(
    'the gateway is ready again',
    async () => (await fetch(`${gateway.managementUrl}/readyz`)).ok,
    120_000,
  )
  t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
})

// `npm run soak:crash` runs this test with more requests and measures times.
t.test('a worker that is killed under load loses only its requests in flight', async (t) => {
  const cleanup = createCleanup()
  const folder = t.testdir()
  t.teardown(() => cleanup.run())
  const { counts, kills } = await soakCrash({ folder, cleanup, workers: 2, kills: 1, pauseMs: 1_000 })
  t.ok(counts.answered > 0, `${counts.answered} answered`)
  t.equal(kills.length, 1)
  for (const { connections, failed } of kills) {
    t.ok(connections > 1, 'the victim had connections')
    t.ok(failed <= connections, `${failed} lost, ${connections} connections`)
  }
})
