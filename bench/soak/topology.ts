// npm run soak:topology: three gateways with two workers, two authorization servers, a store, and HAProxy as the load
// balancer of both services. The load is 120 requests per second with refreshes and revocations. Kills each process,
// restarts all services one after the other, and replaces all services by a previous version and back. Prints the
// failed requests of each step beside their limit. If a number exceeds its limit, the exit code is 1, and the last line
// names the folder with the logs of all processes. Options: --store=redis|postgres, --tokens=opaque|jwt,
// --previous=REVISION (a commit with the same schema of the store; without this option, no replacement).
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { BenchError } from '../bench-error.ts'
import { checkOut } from '../check-out.ts'
import { startAvailabilityLoad, type Use } from './availability-load.ts'
import { STORES } from './availability-stores.ts'
import { settle } from './availability-trial.ts'
import type { Measurement } from './measurement.ts'
import { awaitChannel, type ClusterService, startRevocationCluster } from './revocation-cluster.ts'
import { childrenOf } from './roll-workers.ts'
import { runSoak, type Soak } from './run-soak.ts'
import { startBalancers } from './start-balancer.ts'
import { type Step, summarizeStep } from './topology-result.ts'

const GATEWAYS = 3
const SERVERS = 2
const WORKERS = 2
const LOAD = { perSecond: 120, sequences: 10, revocationsPerSecond: 2, known: 23, reserve: 100 }
const CALM_MS = 3_000
/** Time for the load balancers and the clients after a change. */
const SETTLE_MS = 3_000
/** Like `minReadySeconds` of a Deployment: the load balancer uses a new process before the next process stops. */
const MIN_READY_MS = 1_000
const STORE_NAMES = ['redis', 'postgres'] as const
const TOKEN_FORMATS = ['opaque', 'jwt'] as const
const PERMITTED = 'sent before the end of the process'
/** After the start of a killed store, the services connect within this time. */
const RECONNECT_MS = 5_000

await runSoak(async (soak) => {
  const options = readOptions()
  const previous = options.previous === undefined ? undefined : checkOut(options.previous, soak)
  const { cluster, store } = await startTopology(options, soak)
  const { gateways, servers } = cluster
  // Every request goes to the load balancer. The number of gateways determines how often the load uses each token first.
  const front = gateways.map((gateway) => ({ ...gateway, url: cluster.baseUrl }))
  const load = await startAvailabilityLoad({ gateways: front, client: cluster.client }, LOAD)
  await wait(CALM_MS)
  const rows: Measurement[] = []
  const failures = join(soak.folder, 'failed-requests.log')

  async function measure(name: string, change: () => Promise<Step['kill']>): Promise<void> {
    load.takeUses()
    const startedMs = performance.now()
    const kill = await change()
    const endedMs = performance.now()
    const { uses, openMs } = await settle(cluster, load, { earliestMs: endedMs + SETTLE_MS, calmMs: CALM_MS })
    const step = { name, startedMs, endedMs, openMs, kill }
    const measured = summarizeStep([...uses, ...load.takeUses()], step)
    console.log(measured.rows.map((row) => `${row.what}: ${row.measured}`).join('\n'))
    for (const use of measured.otherFailures) appendFileSync(failures, `${describeFailure(name, use)}\n`)
    rows.push(...measured.rows)
  }

  // The store is first, because a new gateway does not know the known tokens until their next use.
  await measure('kill the store', async () => {
    const { endedMs } = await store.kill()
    return {
      permits: ({ kind, sentMs }) => kind !== 'known' && sentMs < endedMs + RECONNECT_MS,
      permitted: 'with a new token or a write, up to 5 s after the start of the store',
    }
  })
  for (const [index, service] of [...gateways, ...servers].entries()) {
    const name = index < GATEWAYS ? `kill gateway ${index + 1}` : `kill server ${index - GATEWAYS + 1}`
    await measure(name, () => killService(service))
  }
  await measure('kill a worker of gateway 1', async () => {
    const supervisor = gateways[0]?.process.pid ?? 0
    const [worker = 0] = childrenOf(supervisor)
    await killProcesses([worker])
    // The supervisor sends connections to the worker until the supervisor knows the end of the worker.
    while (childrenOf(supervisor).includes(worker)) await wait(1)
    const knownMs = performance.now()
    return { permits: ({ sentMs }) => sentMs <= knownMs, permitted: PERMITTED }
  })
  await measure('restart all services', () => replaceAll())
  if (previous !== undefined) {
    await measure(`replace all services by ${options.previous}`, () => replaceAll(previous))
    await measure('replace all services by this version', () => replaceAll(findPackageRoot()))
  }
  await load.stop()
  return rows

  /** Replaces one process after the other, like a rolling update. */
  async function replaceAll(root?: string): Promise<undefined> {
    for (const service of [...servers, ...gateways]) {
      await service.restart({}, root)
      await wait(MIN_READY_MS)
    }
  }
})

/** The times have the format of the logs of the processes. */
function describeFailure(step: string, { kind, status, sentMs, endMs }: Use): string {
  const [sent, end] = [sentMs, endMs].map((ms) => new Date(performance.timeOrigin + ms).toISOString())
  return `${step}: ${kind} ${status}, sent ${sent}, ended ${end}`
}

/** Kills all processes of a service, and starts the service again. */
async function killService(service: ClusterService): Promise<Step['kill']> {
  const { pid } = service.process
  const kill = await killProcesses([pid, ...childrenOf(pid)])
  await service.restart()
  return kill
}

/** Kills the processes, and waits until the system has ended them and closed their connections. */
async function killProcesses(pids: readonly number[]): Promise<Step['kill']> {
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  while (pids.some(isRunning)) await wait(1)
  const endedMs = performance.now()
  return { permits: ({ sentMs }) => sentMs <= endedMs, permitted: PERMITTED }
}

/**
 * The first thread of an ended process is in state `Z` until its parent knows the end. The system closes the connections
 * when the last thread ends.
 */
function isRunning(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return !/^State:\s+[ZX]/m.test(status) || !/^Threads:\s+1$/m.test(status)
  } catch {
    return false
  }
}

async function startTopology(options: ReturnType<typeof readOptions>, { folder, cleanup }: Soak) {
  const storeFolder = join(folder, 'store')
  mkdirSync(storeFolder)
  const store = await STORES[options.store]({ folder: storeFolder, cleanup })
  const drain = { SCOPEGATE_DRAIN__DELAY: '1s' }
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: GATEWAYS,
    servers: SERVERS,
    redis: undefined,
    eventStream: true,
    balance: (services) => startBalancers({ folder, cleanup }, services),
    serverSettings: { SCOPEGATE_ACCESS_TOKENS__FORMAT: options.tokens, ...drain, ...store.directSettings },
    gatewaySettings: (_, server) => ({
      SCOPEGATE_WORKERS: String(WORKERS),
      ...drain,
      ...(options.tokens === 'jwt'
        ? { SCOPEGATE_ISSUERS__0__JWT__KEYS__URI: `${server}${ENDPOINTS.jwks}` }
        : {}),
      ...store.gatewaySettings,
    }),
  })
  await awaitChannel(cluster, 'up')
  return { cluster, store }
}

function readOptions() {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { store: text, tokens: text, previous: text } })
  return {
    store: choose('--store', values.store, STORE_NAMES),
    tokens: choose('--tokens', values.tokens, TOKEN_FORMATS),
    previous: values.previous,
  }
}

function choose<T extends string>(option: string, value: string | undefined, all: readonly T[]): T {
  const chosen = all.find((name) => name === (value ?? all[0]))
  if (chosen === undefined)
    throw new BenchError('ERR_BENCH_USAGE', `${option} must be one of ${all.join(', ')} (got "${value}").`)
  return chosen
}
