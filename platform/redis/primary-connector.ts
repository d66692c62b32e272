import { type AbstractConnector, Redis, type SentinelConnectionOptions, SentinelConnector } from 'ioredis'
import { CONNECT_TIMEOUT_MS, HANDSHAKE_TIMEOUT_MS, SILENCE_MS } from './redis-client.ts'
import { parseAddress } from './redis-connection.ts'

/** The channel on which a Sentinel publishes the address of each new primary. */
const SWITCH_CHANNEL = '+switch-master'
/**
 * Interval of the requests to each Sentinel. The requests are necessary, because a message on the channel can get lost.
 * Milliseconds.
 */
const POLL_MS = 1_000

/** The primary that one Sentinel names. Of two Sentinels, the Sentinel with the higher epoch has the newer decision. */
type NamedPrimary = { readonly host: string; readonly port: number; readonly epoch: number }

/** Connections to Sentinels that report the current primary. */
type PrimaryWatch = {
  /** Opens the connections. Has no effect if the connections are already open. */
  start(): void
  stop(): void
  /** Returns the primary that replaces the given server in the newest decision of the connected Sentinels. */
  successorOf(address: string): NamedPrimary | undefined
}

/**
 * Returns a connector that also leaves a server when the Sentinels name another primary. The client then connects
 * again, as after a lost connection.
 *
 * `failoverDetector` of ioredis is not sufficient: a failover message during a reconnection ends the client.
 * @param onLeave called before the connector closes the connection.
 */
export function definePrimaryConnector(onLeave: () => void): new (options: unknown) => AbstractConnector {
  return class PrimaryConnector extends SentinelConnector {
    /** Address of the last connection. */
    #address: string | undefined
    /** Address of the last server that the Sentinels have replaced. */
    #former: string | undefined
    readonly #watch: PrimaryWatch

    constructor(options: unknown) {
      super(options as SentinelConnectionOptions)
      // ioredis calls this function with each address from a Sentinel, last with the address of the primary.
      this.options.natMap = (address) => {
        // A Sentinel with an older decision still names the former primary.
        const successor = address === this.#former ? this.#watch.successorOf(address) : undefined
        this.#address = successor === undefined ? address : addressOf(successor)
        return successor === undefined ? null : { host: successor.host, port: successor.port }
      }
      this.#watch = createPrimaryWatch(this.options, () => this.#leaveFormerPrimary())
    }

    override async connect(emit: Parameters<SentinelConnector['connect']>[0]) {
      const stream = await super.connect(emit)
      // ioredis names this server in its diagnostics channel, and would otherwise name its default server.
      if (this.#address !== undefined) Object.assign(this.options, parseAddress(this.#address))
      if (this.connecting) this.#watch.start()
      this.#leaveFormerPrimary() // the Sentinel of this connection can have an older decision
      return stream
    }

    override disconnect(): void {
      this.#watch.stop()
      super.disconnect()
    }

    #leaveFormerPrimary(): void {
      if (this.#address === undefined || this.stream.destroyed) return
      if (this.#watch.successorOf(this.#address) === undefined) return
      this.#former = this.#address
      onLeave()
      this.stream.destroy() // disconnect() would end the client if it is connecting
    }
  }
}

function createPrimaryWatch(options: SentinelConnectionOptions, onAnswer: () => void): PrimaryWatch {
  const answers = new Map<Redis, NamedPrimary>()
  let sentinels: readonly Redis[] = []
  let timer: NodeJS.Timeout | undefined

  async function ask(sentinel: Redis): Promise<void> {
    if (sentinel.status !== 'ready') return
    const answer = await readPrimary(sentinel, options.name ?? '').catch(() => undefined)
    if (answer === undefined) answers.delete(sentinel)
    else if (sentinels.includes(sentinel)) answers.set(sentinel, answer)
    onAnswer()
  }

  return {
    start() {
      if (timer !== undefined) return
      sentinels = (options.sentinels ?? []).map((address) => connectSentinel(address, options))
      for (const sentinel of sentinels) {
        sentinel.on('error', () => undefined)
        sentinel.on('close', () => answers.delete(sentinel))
        sentinel.on('message', () => void ask(sentinel))
        sentinel.on('ready', () => {
          // Without permission for the channel, the requests at each interval are sufficient.
          sentinel.subscribe(SWITCH_CHANNEL).catch(() => undefined)
          void ask(sentinel)
        })
      }
      timer = setInterval(() => sentinels.forEach((sentinel) => void ask(sentinel)), POLL_MS)
    },
    stop() {
      clearInterval(timer)
      timer = undefined
      for (const sentinel of sentinels) sentinel.disconnect()
      sentinels = []
      answers.clear()
    },
    successorOf(address) {
      const all = [...answers.values()]
      const epoch = Math.max(...all.map((answer) => answer.epoch))
      const newest = all.filter((answer) => answer.epoch === epoch)
      return newest.some((answer) => addressOf(answer) === address) ? undefined : newest[0]
    },
  }
}

function connectSentinel(
  address: { readonly host?: string; readonly port?: number },
  options: SentinelConnectionOptions,
): Redis {
  const sentinel = new Redis({
    ...address,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: HANDSHAKE_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => POLL_MS,
  })
  Object.defineProperties(sentinel.options, {
    username: { get: () => options.sentinelUsername },
    password: { get: () => options.sentinelPassword },
    tls: { get: () => options.sentinelTLS },
  })
  sentinel.connect().catch(() => undefined)
  return sentinel
}

/**
 * Reads the current primary from a Sentinel. In a failover, the leader of the Sentinels names the new primary in
 * `GET-MASTER-ADDR-BY-NAME` first.
 */
async function readPrimary(sentinel: Redis, name: string): Promise<NamedPrimary | undefined> {
  const [address, fields] = await Promise.all([
    sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
    sentinel.call('SENTINEL', 'MASTER', name),
  ])
  if (!Array.isArray(address) || !Array.isArray(fields)) return undefined
  const [host, port] = address
  const epoch = Number(fields[fields.indexOf('config-epoch') + 1])
  return Number.isInteger(epoch) ? { host: String(host), port: Number(port), epoch } : undefined
}

/** The format is the format of ioredis. */
function addressOf({ host, port }: Pick<NamedPrimary, 'host' | 'port'>): string {
  return `${host}:${port}`
}
