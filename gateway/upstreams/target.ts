import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import type { buildConnector } from 'undici'
import {
  CircuitBreaker,
  type CircuitRules,
  type CircuitState,
  LONGEST_TRIAL_MS,
  type Trial,
} from '../../platform/circuit-breaker.ts'
import type { ResolveName } from '../../platform/net/resolve-name.ts'
import type { CertificateSource } from '../server/tls/certificate-source.ts'
import { createConnector } from './connect.ts'
import { HealthCheck, type HealthCheckSettings, type ProbeResult } from './health-check.ts'
import { type ConnectionCount, ConnectionPool, type ConnectionPoolOptions } from './http1/connection-pool.ts'
import { NameAddresses, RESOLVE_EVERY_MS } from './name-addresses.ts'

/** Settings of one target. `connectTimeoutMs` limits connection setup, including TLS. */
export type TargetSettings = {
  /** Scheme, host and port. */
  readonly origin: string
  readonly connectTimeoutMs: number
  readonly ejection: CircuitRules
  /** Maximum number of open connections. Infinity: no limit. */
  readonly maxConnections: number
  readonly resolve: ResolveName
  /** Trusted CA certificates in PEM; `undefined`: the public CAs. */
  readonly ca: string | undefined
  /** The client certificate of the gateway. Undefined: no client certificate. */
  readonly certificate: Pick<CertificateSource, 'current' | 'onChange'> | undefined
  /** Whether this version of Node.js can read a response after a failed write of the request. */
  readonly readsEarlyResponses: boolean
  readonly tickMs: () => number
  /** Undefined: no health check. */
  readonly healthCheck: HealthCheckSettings | undefined
  readonly onProbed: (result: ProbeResult) => void
  /** Called when the target is ejected, and when the gateway sends requests to the target again. */
  readonly onEjected: (isEjected: boolean, cause: EjectionCause) => void
  /** Called when a connection may have become free, and when an ejected target may get a trial request. */
  readonly onFree: () => void
}

/** Why the state of a target changed. `probe`: the result of the deciding probe, such as `status 503`. */
export type EjectionCause = {
  readonly reason: 'requests' | 'health_check'
  readonly probe?: string
}

/** State of a target with a health check. */
export type TargetHealth = { readonly target: string; readonly isHealthy: boolean }

type Connectors = Pick<ConnectionPoolOptions, 'connect' | 'connectPlainly'>

/**
 * Idle timeout of connections to an upstream that announces no timeout. The value is less than 5 s, the keep-alive
 * timeout of Node. Milliseconds.
 */
const IDLE_MS = 4_000
/** Pause after a failed probe. Milliseconds. */
const PROBE_MS = 1_000
/** A timer can fire before this time has passed on the monotonic clock. Milliseconds. */
const TIMER_ERROR_MS = 10

export class Target {
  readonly origin: string
  /** Number of requests whose responses are not complete. */
  outstanding = 0
  readonly #settings: TargetSettings
  readonly #circuit: CircuitBreaker
  #connectors: Connectors
  readonly #connections: ConnectionCount
  /** Open WebSockets, which keep their connections. */
  #sessions = 0
  readonly #retired = new Set<ConnectionPool>()
  readonly #addresses: NameAddresses | undefined
  readonly #watch: NodeJS.Timeout | undefined
  readonly #healthCheck: HealthCheck | undefined
  readonly #unfollow: (() => void) | undefined
  #pool: ConnectionPool
  #used = false
  #probe: NodeJS.Timeout | undefined
  #nextTrial: NodeJS.Timeout | undefined
  #closed = false

  constructor(settings: TargetSettings) {
    this.origin = settings.origin
    this.#settings = settings
    this.#circuit = new CircuitBreaker(settings.ejection, (isClosed) =>
      settings.onEjected(!isClosed, { reason: 'requests' }),
    )
    this.#connections = {
      max: settings.maxConnections,
      open: 0,
      onClosed: () => {
        for (const pool of [this.#pool, ...this.#retired]) pool.resume()
      },
    }
    const hostname = new URL(settings.origin).hostname
    if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0) {
      this.#addresses = new NameAddresses(hostname, {
        resolve: settings.resolve,
        tickMs: settings.tickMs,
        onMoved: () => this.#renew(),
      })
      this.#watch = setInterval(() => this.#look(), RESOLVE_EVERY_MS).unref()
    }
    this.#connectors = this.#createConnectors()
    this.#pool = this.#open()
    this.#unfollow = settings.certificate?.onChange(() => {
      // A connector resumes TLS sessions, which belong to the earlier certificate.
      this.#connectors = this.#createConnectors()
      this.#renew()
    })
    this.#healthCheck =
      settings.healthCheck &&
      new HealthCheck({
        ...settings.healthCheck,
        openPool: () => this.#openProbePool(),
        random: Math.random,
        onProbed: settings.onProbed,
        onChange: (isHealthy, probe) => this.#onHealthChange(isHealthy, probe),
      })
  }

  get pool(): ConnectionPool {
    return this.#pool
  }

  /** Opens connections for WebSockets. The gateway reads these connections as regular streams. */
  get connectPlainly(): buildConnector.connector {
    return this.#connectors.connectPlainly
  }

  get state(): CircuitState {
    return this.#circuit.state
  }

  /** Whether the circuit allows another request. */
  get isAccepting(): boolean {
    // A closed circuit does not depend on the time, so most requests need not read the clock.
    return this.state === 'closed' || this.#circuit.isAccepting(this.#settings.tickMs())
  }

  /** Undefined: the target has no health check. */
  get health(): TargetHealth | undefined {
    return this.#healthCheck && { target: this.origin, isHealthy: this.#healthCheck.isHealthy }
  }

  /** Whether all connections are busy. */
  get isFull(): boolean {
    return this.outstanding + this.#sessions >= this.#settings.maxConnections
  }

  /** Number of open connections, including connections whose handshake is not complete. */
  get openConnections(): number {
    return this.#connections.open
  }

  /** Counts a connection that stays busy after the response, until it is closed. */
  upgraded(socket: Duplex): void {
    this.#sessions += 1
    socket.once('close', () => {
      this.#sessions -= 1
      this.#settings.onFree()
    })
  }

  /** Records the start of a request. Every call must be followed by one call of `ended()` with the result. */
  started(startedMs: number): Trial | undefined {
    this.outstanding += 1
    this.#used = true
    const trial = this.#circuit.started(startedMs)
    if (trial !== undefined) this.#advanceAfterTrial()
    return trial
  }

  succeeded(nowMs: number): void {
    this.#circuit.succeeded(nowMs)
  }

  failed(startedMs: number): void {
    if (this.#circuit.failed(startedMs, this.#settings.tickMs())) this.#probeIn(this.#circuit.pauseMs)
  }

  ended(trial: Trial | undefined): void {
    this.outstanding -= 1
    this.#circuit.ended(trial)
    this.#settings.onFree()
  }

  /** Closes the connections after their current requests. */
  async retire(): Promise<void> {
    this.#stop()
    await this.#pool.close()
  }

  #stop(): void {
    this.#closed = true
    clearTimeout(this.#probe)
    clearTimeout(this.#nextTrial)
    clearInterval(this.#watch)
    this.#unfollow?.()
    this.#healthCheck?.close()
  }

  async close(): Promise<void> {
    this.#stop()
    await Promise.all([this.#pool, ...this.#retired].map((pool) => pool.destroy()))
  }

  #open(): ConnectionPool {
    return new ConnectionPool(this.origin, {
      ...this.#connectors,
      idleMs: IDLE_MS,
      connections: this.#connections,
    })
  }

  /** Opens the pool of one probe. Its connection is new, so that the probe also tests the listener of the target. */
  #openProbePool(): ConnectionPool {
    return new ConnectionPool(this.origin, {
      ...this.#createConnectors(this.#settings.healthCheck?.timeoutMs),
      idleMs: IDLE_MS,
      connections: { max: 1, open: 0, onClosed: () => undefined },
    })
  }

  #onHealthChange(isHealthy: boolean, probe: string): void {
    if (isHealthy) this.#circuit.release()
    else {
      clearTimeout(this.#probe)
      this.#circuit.hold()
    }
    this.#settings.onEjected(!isHealthy, { reason: 'health_check', probe })
    this.#settings.onFree()
  }

  #createConnectors(timeoutMs = this.#settings.connectTimeoutMs): Connectors {
    const { ca, certificate, readsEarlyResponses } = this.#settings
    const connection = {
      timeoutMs,
      lookup: this.#addresses?.lookup,
      ca,
      certificate: certificate?.current,
      readsEarlyResponses,
    }
    return {
      connect: createConnector({ ...connection, reading: 'shared' }),
      connectPlainly: createConnector({ ...connection, reading: 'stream' }),
    }
  }

  /**
   * While the target is in use, resolves the name again. Connections therefore use the new addresses after a change.
   */
  #look(): void {
    if (!this.#used) return
    this.#used = false
    void this.#addresses?.refresh()
  }

  /**
   * Opens a new pool after a change of the addresses or the certificate. Requests of the old pool finish on their
   * existing connections.
   */
  #renew(): void {
    const before = this.#pool
    this.#pool = this.#open()
    this.#retired.add(before)
    before.close().then(
      () => this.#retired.delete(before),
      () => this.#retired.delete(before),
    )
  }

  /** Without a result of the trial, a waiting request can become the next trial. */
  #advanceAfterTrial(): void {
    clearTimeout(this.#nextTrial)
    this.#nextTrial = setTimeout(this.#settings.onFree, LONGEST_TRIAL_MS + TIMER_ERROR_MS).unref()
  }

  #probeIn(pauseMs: number): void {
    clearTimeout(this.#probe)
    if (this.#closed) return
    this.#probe = setTimeout(() => this.#tryToConnect(), pauseMs).unref()
  }

  /** Opens and closes a connection as a probe. Only a reachable target gets a trial request. */
  #tryToConnect(): void {
    const { hostname, host, protocol, port } = new URL(this.origin)
    const target = { hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port }
    this.connectPlainly(target, (...[error, socket]) => {
      socket?.on('error', () => undefined).destroy()
      if (this.#closed || !this.#circuit.isWaiting) return
      if (error === null) {
        this.#circuit.halfOpen(this.#settings.tickMs())
        this.#settings.onFree()
      } else this.#probeIn(PROBE_MS)
    })
  }
}
