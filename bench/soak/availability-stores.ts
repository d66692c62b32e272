import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startFaultProxy } from '../../test/fixtures/fault-proxy.ts'
import { runPostgresTool, startPostgres } from '../../test/fixtures/postgres.ts'
import { startCluster } from '../../test/fixtures/redis-cluster.ts'
import type { RedisProcess } from '../../test/fixtures/redis-process.ts'
import { startSentinels } from '../../test/fixtures/redis-sentinel.ts'
import { startRedis, type TestRedis } from '../../test/fixtures/start-redis.ts'
import { until } from '../../test/fixtures/until.ts'
import type { Cleanup } from '../cleanup.ts'

/** Times are milliseconds of `performance.now()`. */
export type FaultEnd = {
  readonly endedMs: number
  /** Time at which clients can find the new primary. Undefined without a failover. */
  readonly newPrimaryMs?: number | undefined
  /** Index of the only gateway with the fault. Undefined if the fault affects all gateways. */
  readonly affectedGateway?: number
}

/**
 * A store of the authorization servers, on a real engine. The function of a fault returns when the engine works again.
 */
export type TrialStore = {
  /** Environment variables for each authorization server and each gateway. */
  readonly serverSettings: Readonly<Record<string, string>>
  readonly gatewaySettings: Readonly<Record<string, string>>
  /**
   * Environment variables for each authorization server, if the trial has no failover. The servers then connect to the
   * store directly. Otherwise, they connect through a proxy in the process of the trial, and a busy process delays each
   * query.
   */
  readonly directSettings: Readonly<Record<string, string>>
  /** Gateways connect to these ports of the store. */
  readonly gatewayPorts: readonly number[]
  /** If true, a new primary has every acknowledged write. */
  readonly isFailoverDurable: boolean
  /** Stops the primary with SIGTERM, and starts the primary again. */
  restart(downMs: number): Promise<FaultEnd>
  /** Makes a replica the primary. Undefined if the store has no replica. */
  readonly failover: (() => Promise<FaultEnd>) | undefined
  /** Ends the primary with SIGKILL, and starts the primary again. */
  kill(): Promise<FaultEnd>
  freeze(ms: number): Promise<FaultEnd>
  /** Waits until the store has all its servers again. */
  complete(): Promise<void>
}

export const STORES = {
  redis: startStandalone,
  sentinel: startWithSentinel,
  cluster: startRedisCluster,
  postgres: startPostgresPair,
} as const

export type StoreName = keyof typeof STORES

/** `folder` contains the data. `STORES.redis` and `STORES.postgres` write their logs beside this folder. */
type Place = { readonly folder: string; readonly cleanup: Cleanup }

/** The primary or the replica of a Redis shard. */
type Node = Pick<RedisProcess, 'freeze' | 'thaw'> & {
  readonly redis: Redis
  kill(signal?: NodeJS.Signals): Promise<void>
  start(): Promise<void>
}

const ROLE_POLL_MS = 5
/** Time from the failover until a service manager has started the old primary. */
const REPLACEMENT_MS = 1_000
/** In a planned failover, the old primary accepts no writes for this time (docs/connect-redis.md). */
const PAUSE_MS = 5_000
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always']

async function startStandalone({ folder, cleanup }: Place): Promise<TrialStore> {
  const options = { folder, keepsData: true, log: `${folder}.log` }
  let redis = await startRedis(options)
  cleanup.add(() => redis.stop())
  const start = async (): Promise<FaultEnd> => {
    redis = await startRedis({ ...options, port: redis.port })
    return { endedMs: performance.now() }
  }
  const serverSettings = { SCOPEGATE_STORE__TYPE: 'redis', REDIS_URL: redis.url }
  return {
    serverSettings,
    directSettings: serverSettings,
    gatewaySettings: { REDIS_URL: redis.url },
    gatewayPorts: [redis.port],
    isFailoverDurable: true,
    async restart(downMs) {
      await redis.stop('SIGTERM')
      await wait(downMs)
      return start()
    },
    failover: undefined,
    async kill() {
      await redis.stop()
      return start()
    },
    freeze: (ms) => freeze(redis, ms),
    complete: async () => undefined,
  }
}

async function startWithSentinel({ folder, cleanup }: Place): Promise<TrialStore> {
  const sentinels = await startSentinels(folder, { keepsData: true })
  cleanup.add(() => sentinels.stop())
  const nodes = sentinels.servers.map((server, index) => {
    const node = sentinelNode(server, join(folder, index === 0 ? 'first' : 'second'), sentinels.primaryPort)
    cleanup.add(async () => {
      node.redis.disconnect()
      await node.kill()
    })
    return node
  })
  const { name, addresses, servers } = sentinels
  const sentinel = connect(portOf(addresses[0]))
  cleanup.add(() => sentinel.disconnect())
  const settings = {
    SCOPEGATE_REDIS__SENTINEL__NAME: name,
    SCOPEGATE_REDIS__SENTINEL__ADDRESSES: addresses.join(','),
  }
  const serverSettings = { SCOPEGATE_STORE__TYPE: 'redis', ...settings }
  return {
    serverSettings,
    directSettings: serverSettings,
    gatewaySettings: settings,
    gatewayPorts: [...addresses.map(portOf), ...servers.map(({ port }) => port)],
    ...replicatedRedis(
      nodes,
      async (_, primary) => {
        await primary.redis.call('CLIENT', 'PAUSE', String(PAUSE_MS), 'WRITE')
        await sentinel.call('SENTINEL', 'FAILOVER', name)
      },
      async (replica) => (await sentinels.primaryPort()) === replica.redis.options.port,
    ),
  }
}

/** If the Sentinels name another primary, `start()` makes the server a replica. */
function sentinelNode(first: TestRedis, folder: string, primaryPort: () => Promise<number>): Node {
  let server = first
  const redis = connect(first.port)
  return {
    redis,
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    kill: (signal) => server.stop(signal),
    async start() {
      const primary = await primaryPort()
      const args = primary === first.port ? [] : ['--replicaof', '127.0.0.1', String(primary)]
      server = await startRedis({ folder, port: first.port, keepsData: true, args })
    },
  }
}

async function startRedisCluster({ folder, cleanup }: Place): Promise<TrialStore> {
  const cluster = await startCluster(folder, { args: DURABLE })
  cleanup.add(() => cluster.stop())
  const slot = Number(await cluster.nodes[0]?.redis.call('CLUSTER', 'KEYSLOT', '{scopegate}'))
  const shard = Math.floor((slot * 3) / 16_384)
  const nodes = [shard, shard + 3].flatMap((index) => cluster.nodes[index] ?? [])
  const settings = { SCOPEGATE_REDIS__CLUSTER__ADDRESSES: cluster.addresses.join(',') }
  const serverSettings = { SCOPEGATE_STORE__TYPE: 'redis', ...settings }
  return {
    serverSettings,
    directSettings: serverSettings,
    gatewaySettings: settings,
    gatewayPorts: cluster.nodes.map(({ port }) => port),
    ...replicatedRedis(nodes, async (replica) => void (await replica.redis.call('CLUSTER', 'FAILOVER'))),
  }
}

/**
 * Returns the functions that cause faults of a primary and its replica. In a Redis Cluster, these two servers are the
 * shard of the accounts. A promoted replica is the new primary when `isNamed` returns true, because clients can then
 * find the replica.
 */
function replicatedRedis(
  nodes: readonly Node[],
  promote: (replica: Node, primary: Node) => Promise<void>,
  isNamed: (replica: Node) => Promise<boolean> = async () => true,
): Pick<TrialStore, 'isFailoverDurable' | 'restart' | 'failover' | 'kill' | 'freeze' | 'complete'> {
  const roles = async () => {
    const isPrimary = await Promise.all(nodes.map(async ({ redis }) => (await redis.role())[0] === 'master'))
    const primary = nodes[isPrimary.indexOf(true)]
    const replica = nodes[isPrimary.indexOf(false)]
    if (primary === undefined || replica === undefined) throw new Error('the shard has no replica')
    return { primary, replica }
  }
  let stopWatching = (): void => undefined
  /** Watches for the new primary until `complete()`, because a failover can continue after the end of the fault. */
  const watch = async (replica: Node, fault: () => Promise<void>): Promise<FaultEnd> => {
    let newPrimaryMs: number | undefined
    const watched = watchPrimary(replica, isNamed, (ms) => {
      newPrimaryMs = ms
    })
    stopWatching = watched.stop
    await fault()
    return {
      endedMs: performance.now(),
      get newPrimaryMs() {
        return newPrimaryMs
      },
    }
  }
  const untilPrimary = async (replica: Node): Promise<FaultEnd> => {
    const newPrimaryMs = await new Promise<number>((resolve) => watchPrimary(replica, isNamed, resolve))
    return { endedMs: newPrimaryMs, newPrimaryMs }
  }
  return {
    isFailoverDurable: false,
    async restart(downMs) {
      const { primary, replica } = await roles()
      return watch(replica, async () => {
        await primary.kill('SIGTERM')
        await wait(downMs)
        await primary.start()
      })
    },
    async failover() {
      const { primary, replica } = await roles()
      await promote(replica, primary)
      return untilPrimary(replica)
    },
    async kill() {
      const { primary, replica } = await roles()
      await primary.kill('SIGKILL')
      const end = await untilPrimary(replica)
      await wait(REPLACEMENT_MS)
      await primary.start()
      return end
    },
    async freeze(ms) {
      const { primary, replica } = await roles()
      return watch(replica, async () => void (await freeze(primary, ms)))
    },
    async complete() {
      await until('the replica follows the primary', async () => {
        const { replica } = await roles().catch(() => ({ replica: undefined }))
        return (await replica?.redis.info('replication'))?.includes('master_link_status:up')
      })
      stopWatching()
    },
  }
}

function watchPrimary(
  replica: Node,
  isNamed: (replica: Node) => Promise<boolean>,
  onPrimary: (ms: number) => void,
): { stop(): void } {
  let stopped = false
  void (async () => {
    while (!stopped) {
      const [role] = await replica.redis.role().catch(() => [])
      if (role === 'master' && (await isNamed(replica))) {
        onPrimary(performance.now())
        return
      }
      await wait(ROLE_POLL_MS)
    }
  })()
  return {
    stop: () => {
      stopped = true
    },
  }
}

/** Starts PostgreSQL with a synchronous standby, behind a proxy that forwards to the current primary. */
async function startPostgresPair({ folder, cleanup }: Place): Promise<TrialStore> {
  const first = await startPostgres({ log: `${folder}.log` })
  cleanup.add(() => first.remove())
  const copy = join(folder, 'standby')
  const origin = ['--host=127.0.0.1', `--port=${first.port}`, '--username=admin']
  runPostgresTool('pg_basebackup', [...origin, '--checkpoint=fast', '--no-sync', `--pgdata=${copy}`])
  writeFileSync(join(copy, 'standby.signal'), '')
  execFileSync('chmod', ['700', copy])
  const standby = await startPostgres({
    from: copy,
    log: `${folder}-standby.log`,
    settings: {
      primary_conninfo: `host=127.0.0.1 port=${first.port} user=admin`,
      wal_retrieve_retry_interval: '200ms',
    },
  })
  cleanup.add(() => standby.remove())
  let hasStandby = true
  const complete = async (): Promise<void> => {
    if (!hasStandby) return
    await until('the standby follows the primary', async () => {
      const rows = await first.query("select 1 from pg_stat_replication where state = 'streaming'")
      return rows.length > 0
    })
  }
  await complete()
  await first.query("alter system set synchronous_standby_names = '*'")
  await first.query('select pg_reload_conf()')
  const way = await startFaultProxy(first.port)
  cleanup.add(() => way.close())
  let primary = first
  const start = async (): Promise<FaultEnd> => {
    await primary.start()
    return { endedMs: performance.now() }
  }
  const directSettings = { SCOPEGATE_STORE__TYPE: 'postgres', SCOPEGATE_POSTGRES__URL: first.url }
  return {
    serverSettings: {
      ...directSettings,
      SCOPEGATE_POSTGRES__URL: first.url.replace(`:${first.port}/`, `:${way.port}/`),
    },
    directSettings,
    gatewaySettings: {},
    gatewayPorts: [],
    isFailoverDurable: true,
    async restart(downMs) {
      await primary.stop()
      await wait(downMs)
      return start()
    },
    async failover() {
      hasStandby = false
      primary = standby
      await first.stop()
      await standby.query('select pg_promote()')
      const newPrimaryMs = performance.now()
      way.retarget(standby.port)
      return { endedMs: newPrimaryMs, newPrimaryMs }
    },
    async kill() {
      await primary.stop('crash')
      return start()
    },
    freeze: (ms) => freeze(primary, ms),
    complete,
  }
}

async function freeze(engine: { freeze(): void; thaw(): void }, ms: number): Promise<FaultEnd> {
  engine.freeze()
  await wait(ms)
  engine.thaw()
  return { endedMs: performance.now() }
}

function connect(port: number): Redis {
  const redis = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50, maxRetriesPerRequest: 0 })
  redis.on('error', () => undefined)
  return redis
}

function portOf(address: string | undefined): number {
  return Number(address?.split(':')[1])
}
