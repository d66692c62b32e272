import type { Cluster, Redis } from 'ioredis'
import { isReplyError } from './is-reply-error.ts'
import { loadIoredis } from './load-ioredis.ts'
import {
  COMMAND_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  type ConnectOptions,
  HANDSHAKE_TIMEOUT_MS,
  jitterMs,
  RECONNECT_FAILOVER_MS,
  SILENCE_MS,
} from './redis-client.ts'
import { parseAddress } from './redis-connection.ts'
import { openRedisCredentials, useCredentials } from './redis-credentials.ts'
import { explainFailure, isTemporary, nameConnection } from './redis-failure.ts'

/** Interval at which the client reads the slots without a failure, to find added replicas. Milliseconds. */
const REFRESH_MS = 10_000
/**
 * Minimum time between two reads of the slots after failures, and between two connections to one node. Milliseconds.
 */
const RETRY_MS = 500

/**
 * Connects to a Redis Cluster. All commands, including reads, go to the primaries.
 * `MOVED`, `ASK`, `TRYAGAIN` and `CLUSTERDOWN` mean that the node did not run the command. The client then repeats the
 * command until the command times out. After a lost connection, the outcome of a command is unknown, so the command
 * fails. After each failure, the client reads the slots again, at most twice a second. After a failover, the client
 * thus finds the new primary.
 * @throws {BootError} ERR_REDIS_FILE, ERR_REDIS_REFUSED, ERR_REDIS_TLS, ERR_REDIS_NO_CLUSTER, and ERR_REDIS_UNREACHABLE
 * or ERR_REDIS_CLUSTER_DOWN unless `mayBeAway`. The messages contain no secret.
 */
export async function connectCluster(options: ConnectOptions): Promise<Cluster> {
  const { setting = 'redis', mayBeAway = false, logger, commandTimeoutMs = COMMAND_TIMEOUT_MS } = options
  const name = nameConnection(options, setting)
  const credentials = openRedisCredentials(options, setting)
  const { Cluster: Client } = await loadIoredis()
  let refreshedAtMs = Number.NEGATIVE_INFINITY
  /** Times at which nodes were lost. */
  const lostAtMs = new Map<string, number>()
  /** Lost primaries that the log already reports. */
  const logged = new Set<string>()
  /** Connected primaries at the time of the last loss. */
  let remaining: readonly Redis[] = []
  let isStarted = false

  class PromptCluster extends Client {
    /** Rejects a command immediately without a connection. The timeout of a command includes all its redirections. */
    override sendCommand(...args: Parameters<Cluster['sendCommand']>): unknown {
      const [command] = args
      if (this.status !== 'ready' && command.name !== 'cluster') {
        command.reject(new Error('Connection is closed.'))
        return command.promise
      }
      command.setTimeout(commandTimeoutMs)
      command.promise.catch(onFailure)
      return super.sendCommand(...args)
    }
  }

  const cluster: Cluster = new PromptCluster((options.cluster?.addresses ?? []).map(parseAddress), {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    scaleReads: 'master',
    // Keeps host names unresolved, because certificates contain names.
    dnsLookup: (address, callback) => callback(null, address),
    clusterRetryStrategy: () => (mayBeAway || isStarted ? RECONNECT_FAILOVER_MS - jitterMs() : null),
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: HANDSHAKE_TIMEOUT_MS,
    slotsRefreshInterval: REFRESH_MS,
    redisOptions: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: HANDSHAKE_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
    },
  })

  function onFailure(error: unknown): void {
    if (isReplyError(error) && !/^(CLUSTERDOWN|READONLY|MASTERDOWN)/.test(error.message)) return
    const nowMs = performance.now()
    if (cluster.status !== 'ready' || nowMs - refreshedAtMs < RETRY_MS) return
    refreshedAtMs = nowMs
    cluster.refreshSlotsCache()
  }

  cluster.on('+node', (node: Redis) => {
    useCredentials(node, credentials)
    const redis = addressOf(node)
    // Without this check, each command that a node redirects to a lost primary would open a connection.
    if (isStarted && performance.now() - (lostAtMs.get(redis) ?? -RETRY_MS) < RETRY_MS)
      return node.disconnect()
    node.on('close', () => {
      lostAtMs.set(redis, performance.now())
      // The client itself closes a connection to a node that has no slots.
      if (!isStarted || !cluster.nodes('master').includes(node) || logged.has(redis)) return
      logged.add(redis)
      remaining = cluster.nodes('master').filter(isReady)
      logger?.warn({ event: 'redis_lost', redis }, 'redis connection lost')
    })
    node.on('ready', () => {
      lostAtMs.delete(redis)
      if (logged.size > 0) cluster.refreshSlotsCache()
    })
    // Connects early, because commands fail during a handshake. `setImmediate` lets the command that found the node run
    // first. A replica is connected when it becomes a primary.
    setImmediate(() => {
      if (node.status === 'wait' && !node.options.readOnly) node.connect().catch(() => undefined)
    })
  })
  // The primaries of the client match the slots only after a read of the slots. At other times, a redirection to a
  // lost primary can add this primary, or a lost primary of other slots can be absent.
  cluster.on('refresh', () => {
    const primaries = cluster.nodes('master')
    if (logged.size === 0 || !primaries.every(isReady)) return
    const [back] = primaries.filter((node) => !remaining.includes(node)).map(addressOf)
    const redis = back ?? [...logged][0]
    logged.clear()
    logger?.info({ event: 'redis_back', redis }, 'redis connection is back')
  })
  let lastError: unknown
  cluster.on('node error', (error: unknown) => {
    lastError = error
  })
  cluster.on('error', () => undefined)
  try {
    await firstConnection(cluster)
    await Promise.all(cluster.nodes('master').map(whenReady))
    // The client itself could send the command to a primary that is away.
    const ready = cluster.nodes('master').find(isReady)
    if (ready === undefined) throw new Error('no node is available')
    const info = String(await ready.cluster('INFO'))
    if (info.includes('cluster_state:fail')) throw new Error('cluster_state:fail')
  } catch (error) {
    const cause = error instanceof Error && /cluster_state/.test(error.message) ? error : (lastError ?? error)
    const failure = explainFailure(name, cause)
    if (!mayBeAway || !isTemporary(failure)) {
      cluster.disconnect()
      throw failure
    }
    logger?.warn({ event: 'redis_unreachable', redis: name.where, code: failure.code }, failure.message)
  }
  isStarted = true
  return cluster
}

function addressOf({ options }: Redis): string {
  return `${options.host}:${options.port}`
}

function isReady({ status }: Redis): boolean {
  return status === 'ready'
}

/** Connects once. The client itself repeats the attempt if its options allow this. */
function firstConnection(cluster: Cluster): Promise<void> {
  return new Promise((resolve, reject) => {
    cluster.once('close', () => reject(new Error('no node is available')))
    cluster.connect().then(resolve, reject)
  })
}

/**
 * Waits until a node is ready or its connection fails, at most CONNECT_TIMEOUT_MS. If the node cannot be reached, its
 * commands fail later.
 */
function whenReady(node: Redis): Promise<void> {
  if (isReady(node)) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CONNECT_TIMEOUT_MS)
    const settle = (): void => {
      clearTimeout(timer)
      resolve()
    }
    node.once('ready', settle)
    node.once('close', settle)
    if (node.status === 'wait') node.connect().catch(() => undefined)
  })
}
