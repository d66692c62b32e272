import { isIP } from 'node:net'
import type { buildConnector } from 'undici'
import { Circuit, type CircuitRules, type CircuitState } from './circuit.ts'
import { createConnector } from './connect.ts'
import { ConnectionPool } from './http1/connection-pool.ts'
import { NameAddresses, RESOLVE_EVERY_MS, type ResolveName } from './name-addresses.ts'

/** One address of an upstream. `connectTimeoutMs`: how long a connection may take, TLS included. */
export type TargetSettings = {
  /** Scheme, host and port. */
  readonly origin: string
  readonly connectTimeoutMs: number
  readonly ejection: CircuitRules
  readonly resolve: ResolveName
  /** PEM; undefined: the public authorities. */
  readonly ca: string | undefined
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Called when the target gets no more requests, and when it responds again. */
  readonly onEjected: (isEjected: boolean) => void
}

/** Below the 5 s of a Node upstream that does not announce its own. Milliseconds. */
const IDLE_MS = 4_000
/** A target that could not be reached is tried again after so long. Milliseconds. */
const PROBE_MS = 1_000

/** One address of an upstream: its connections, how much it has to do, and whether it is worth a request. */
export class Target {
  readonly origin: string
  /** Requests that it has not answered wholly. */
  outstanding = 0
  readonly #settings: TargetSettings
  readonly #circuit: Circuit
  readonly #connect: buildConnector.connector
  /** Makes connections to it that are read as every other stream. */
  readonly connectPlainly: buildConnector.connector
  readonly #retired = new Set<ConnectionPool>()
  readonly #addresses: NameAddresses | undefined
  readonly #watch: NodeJS.Timeout | undefined
  #pool: ConnectionPool
  #used = false
  #ejected = false
  #probe: NodeJS.Timeout | undefined
  #closed = false

  /** Opens no connection yet; requests do. */
  constructor(settings: TargetSettings) {
    this.origin = settings.origin
    this.#settings = settings
    this.#circuit = new Circuit(settings.ejection)
    const hostname = new URL(settings.origin).hostname
    if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) {
      this.#addresses = new NameAddresses(hostname, {
        resolve: settings.resolve,
        tickMs: settings.tickMs,
        onMoved: () => this.#renew(),
      })
      this.#watch = setInterval(() => this.#look(), RESOLVE_EVERY_MS).unref()
    }
    const connection = {
      timeoutMs: settings.connectTimeoutMs,
      lookup: this.#addresses?.lookup,
      ca: settings.ca,
    }
    this.#connect = createConnector({ ...connection, reading: 'shared' })
    this.connectPlainly = createConnector({ ...connection, reading: 'stream' })
    this.#pool = this.#open()
  }

  get pool(): ConnectionPool {
    return this.#pool
  }

  get state(): CircuitState {
    return this.#circuit.state
  }

  /** Whether the next request may go to it. */
  get takes(): boolean {
    return this.#circuit.takes
  }

  /** A request goes to it. `ended` has to follow, whatever becomes of the request. */
  began(): void {
    this.outstanding += 1
    this.#used = true
    this.#circuit.began()
  }

  answered(nowMs: number): void {
    if (!this.#circuit.answered(nowMs)) return
    this.#ejected = false
    this.#settings.onEjected(false)
  }

  failed(startedMs: number): void {
    if (!this.#circuit.failed(startedMs)) return
    this.#probeIn(this.#circuit.pauseMs)
    if (this.#ejected) return
    this.#ejected = true
    this.#settings.onEjected(true)
  }

  ended(): void {
    this.outstanding -= 1
    this.#circuit.ended()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#probe)
    clearInterval(this.#watch)
    await Promise.all([this.#pool, ...this.#retired].map((pool) => pool.destroy()))
  }

  #open(): ConnectionPool {
    return new ConnectionPool(this.origin, {
      connect: this.#connect,
      connectPlainly: this.connectPlainly,
      idleMs: IDLE_MS,
    })
  }

  /** While it is in use, so that connections move when the name does. */
  #look(): void {
    if (!this.#used) return
    this.#used = false
    void this.#addresses?.refresh()
  }

  /** What is under way ends where it began; what comes next gets connections to the new addresses. */
  #renew(): void {
    const before = this.#pool
    this.#pool = this.#open()
    this.#retired.add(before)
    before.close().then(
      () => this.#retired.delete(before),
      () => this.#retired.delete(before),
    )
  }

  #probeIn(pauseMs: number): void {
    clearTimeout(this.#probe)
    this.#probe = setTimeout(() => this.#tryToConnect(), pauseMs).unref()
  }

  /** A connection is opened and closed: only a target that takes it is given a request. */
  #tryToConnect(): void {
    const { hostname, host, protocol, port } = new URL(this.origin)
    const target = { hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port }
    this.connectPlainly(target, (...[error, socket]) => {
      socket?.on('error', () => undefined).destroy()
      if (this.#closed || this.#circuit.state !== 'open') return
      if (error === null) this.#circuit.halfOpen(this.#settings.tickMs())
      else this.#probeIn(PROBE_MS)
    })
  }
}
