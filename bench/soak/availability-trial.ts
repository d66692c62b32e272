import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type FaultProxy, startFaultProxy } from '../../test/fixtures/fault-proxy.ts'
import type { Cleanup } from '../cleanup.ts'
import {
  type AvailabilityLoad,
  type LoadOptions,
  startAvailabilityLoad,
  type Use,
} from './availability-load.ts'
import { type FaultName, type FaultResult, isCalm, summarize } from './availability-result.ts'
import { type FaultEnd, STORES, type StoreName, type TrialStore } from './availability-stores.ts'
import { awaitChannel, type RevocationCluster, startRevocationCluster } from './revocation-cluster.ts'

export type TokenFormat = 'opaque' | 'jwt'

/** Durations and settings of a trial. */
export type TrialOptions = LoadOptions & {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly store: StoreName
  readonly tokens: TokenFormat
  readonly servers: number
  readonly workers: number
  /** Additional environment variables of the gateways. */
  readonly gatewaySettings?: Readonly<Record<string, string>>
  readonly quietMs: number
  readonly downMs: number
  readonly freezeMs: number
  readonly partitionMs: number
  readonly awayMs: number
  /** Minimum measured time after a fault. */
  readonly settleMs: number
  /** The measurement of a fault ends after this time without failures. */
  readonly calmMs: number
}

/** Gateways, authorization servers and a store under load. */
export type Trial = {
  /** Returns undefined if the store has no such fault. */
  measure(fault: FaultName): Promise<FaultResult | undefined>
  stop(): Promise<void>
}

const GATEWAYS = 2
const PARTITIONED = 1
const RECOVERY_LIMIT_MS = 60_000
const POLL_MS = 200
export async function startTrial(options: TrialOptions): Promise<Trial> {
  const { folder, cleanup, workers } = options
  const storeFolder = join(folder, 'store')
  mkdirSync(storeFolder)
  const store = await STORES[options.store]({ folder: storeFolder, cleanup })
  const storeWays = await Promise.all(store.gatewayPorts.map((port) => proxy(port, cleanup)))
  const routes = store.gatewayPorts.map((port, index) => `${port}=${storeWays[index]?.port}`)
  const serverWays: FaultProxy[] = []
  const cluster = await startRevocationCluster({
    folder,
    cleanup,
    gateways: GATEWAYS,
    servers: options.servers,
    redis: undefined,
    eventStream: true,
    secret: options.secret ?? (() => undefined),
    serverSettings: {
      SCOPEGATE_ACCESS_TOKENS__FORMAT: options.tokens,
      SCOPEGATE_DRAIN__DELAY: '1s',
      ...store.serverSettings,
    },
    gatewaySettings: (at, server) => ({
      SCOPEGATE_WORKERS: String(workers),
      SCOPEGATE_DRAIN__DELAY: '1s',
      SCOPEGATE_ISSUERS__0__STALE_IF_ERROR: '3m',
      SCOPEGATE_ISSUERS__0__INTROSPECTION__TIMEOUT: '2s',
      SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__TIMEOUT: '5s',
      SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__CONNECT_TIMEOUT: '2s',
      ...(options.tokens === 'jwt'
        ? {
            SCOPEGATE_ISSUERS__0__JWT__KEYS__URI: `${server}${ENDPOINTS.jwks}`,
            SCOPEGATE_ISSUERS__0__JWT__MAX_REVOCATION_DELAY: '3m',
          }
        : {}),
      ...store.gatewaySettings,
      ...(at === PARTITIONED && routes.length > 0
        ? {
            NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'route-ports.ts'))}`,
            SOAK_ROUTES: routes.join(','),
          }
        : {}),
      ...options.gatewaySettings,
    }),
    routeToServers: async (serverUrls, at) => {
      const way = await proxy(serverUrls[at % serverUrls.length] ?? '', cleanup)
      serverWays[at] = way
      return way.url
    },
  })
  await awaitChannel(cluster, 'up')
  const load = await startAvailabilityLoad(cluster, options)
  await wait(options.calmMs)
  const faults = createFaults({ options, store, storeWays, serverWays, cluster, load })
  return {
    async measure(fault) {
      const run = faults[fault]
      if (run === undefined) return undefined
      load.takeUses()
      load.takeRevocationTimes()
      const startedMs = performance.now()
      const end = await run()
      const { uses, openMs } = await settle(cluster, load, {
        earliestMs: end.endedMs + options.settleMs,
        calmMs: options.calmMs,
      })
      await store.complete()
      const phase = { fault, startedMs, ...end, openMs }
      return {
        ...summarize([...uses, ...load.takeUses()], load.takeRevocationTimes(), phase),
        isDurable: store.isFailoverDurable || end.newPrimaryMs === undefined,
      }
    },
    stop: () => load.stop(),
  }
}

async function proxy(target: string | number, cleanup: Cleanup): Promise<FaultProxy> {
  const way = await startFaultProxy(target)
  cleanup.add(() => way.close())
  return way
}

function createFaults(trial: {
  readonly options: TrialOptions
  readonly store: TrialStore
  readonly storeWays: readonly FaultProxy[]
  readonly serverWays: readonly FaultProxy[]
  readonly cluster: RevocationCluster
  readonly load: AvailabilityLoad
}): Readonly<Record<FaultName, (() => Promise<FaultEnd>) | undefined>> {
  const { options, store, cluster, load, serverWays } = trial
  const { gateways, servers } = cluster
  const now = (): FaultEnd => ({ endedMs: performance.now() })
  const signalServers = (signal: NodeJS.Signals): void => {
    for (const server of servers) process.kill(server.process.pid, signal)
  }
  return {
    none: async () => {
      const end = now()
      await wait(options.quietMs)
      return end
    },
    restart: () => store.restart(options.downMs),
    kill: () => store.kill(),
    freeze: () => store.freeze(options.freezeMs),
    failover: store.failover,
    async partition() {
      const ways = [...trial.storeWays, serverWays[PARTITIONED]].filter((way) => way !== undefined)
      for (const way of ways) {
        way.toTarget({ blackHole: true })
        way.toClient({ blackHole: true })
      }
      await wait(options.partitionMs)
      for (const way of ways) {
        way.heal()
        way.reset() // the open connections have lost bytes
      }
      return { ...now(), affectedGateway: PARTITIONED }
    },
    async 'servers-frozen'() {
      signalServers('SIGSTOP')
      await wait(options.freezeMs)
      signalServers('SIGCONT')
      return now()
    },
    async 'servers-away'() {
      await Promise.all(servers.map((server) => server.process.stop()))
      await wait(options.awayMs)
      await Promise.all(servers.map((server) => server.restart()))
      return now()
    },
    async rolling() {
      for (const [index, gateway] of gateways.entries()) {
        load.withdraw(index)
        await gateway.restart()
        load.restore(index)
      }
      for (const [index, server] of servers.entries()) {
        const other = servers[(index + 1) % servers.length]
        for (const way of serverWays) way.retarget(portOf(other?.url))
        await server.restart()
        for (const [at, way] of serverWays.entries()) way.retarget(portOf(servers[at % servers.length]?.url))
      }
      return now()
    },
  }
}

/**
 * Waits until `earliestMs`. Then waits until all channels are open and no request has failed for `calmMs`.
 * @returns the uses, and the time at which the channels of all gateways were open.
 */
export async function settle(
  { gateways }: Pick<RevocationCluster, 'gateways'>,
  load: Pick<AvailabilityLoad, 'takeUses'>,
  { earliestMs, calmMs }: { readonly earliestMs: number; readonly calmMs: number },
): Promise<{ readonly uses: readonly Use[]; readonly openMs: number }> {
  const uses: Use[] = []
  const limitMs = earliestMs + RECOVERY_LIMIT_MS
  let openMs: number | undefined
  for (;;) {
    const channels = await Promise.all(
      gateways.map((gateway) => gateway.metric('scopegate_revocation_channel_up').catch(() => 0)),
    )
    const areOpen = channels.every((channel) => channel === 1)
    openMs = areOpen ? (openMs ?? performance.now()) : undefined
    uses.push(...load.takeUses())
    const nowMs = performance.now()
    const latest = uses.filter(({ sentMs }) => sentMs > nowMs - calmMs)
    if (nowMs > limitMs || (nowMs > earliestMs && areOpen && isCalm(latest)))
      return { uses, openMs: openMs ?? nowMs }
    await wait(POLL_MS)
  }
}

function portOf(url: string | undefined): number {
  return Number(new URL(url ?? '').port)
}
