import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { Connection, type ConnectionOwner } from './connection.ts'
import { Dispatch, type DispatchController, type DispatchHandler, type OutgoingRequest } from './dispatch.ts'
import { readInto } from './read-into.ts'
import { formatRequestHead } from './request-head.ts'
import { UpstreamError } from './upstream-error.ts'

export type ConnectionPoolOptions = {
  /** Opens connections that `readInto` reads. */
  readonly connect: buildConnector.connector
  /** Opens connections that are regular streams, for protocol upgrades. */
  readonly connectPlainly: buildConnector.connector
  /** Idle timeout of a connection when the upstream does not announce a timeout. Milliseconds. */
  readonly idleMs: number
  readonly connections: ConnectionCount
}

/** The connections of all pools of one target. The pools open no connection while `open` is `max`. */
export type ConnectionCount = {
  readonly max: number
  open: number
  /** Called after the end of a connection. */
  readonly onClosed: () => void
}

/**
 * Interval of idle checks. The pool measures idle time in checks, so a request does not need to read the clock.
 * Milliseconds.
 */
const IDLE_CHECK_MS = 500
/**
 * Time between the close of an idle connection by the gateway and the announced close by the upstream. A request sent
 * at the moment of the upstream's close would be lost. Milliseconds.
 */
const KEEP_ALIVE_MARGIN_MS = 1_000
const MAX_IDLE_MS = 600_000

/**
 * The connections to one origin. There is one connection per concurrent request, and idle connections are reused.
 * A request is written after the poll phase of the event loop, when all received bytes have been read. After a
 * response, a connection is reused only after a poll phase. Unsolicited bytes are therefore detected before they can be
 * read as a response (GHSA-35p6-xmwp-9g52).
 */
export class ConnectionPool implements ConnectionOwner {
  readonly #options: ConnectionPoolOptions
  readonly #address: { hostname: string; host: string; protocol: string; port: string }
  readonly #living = new Set<Connection>()
  /** Requests that wait for the end of this iteration of the event loop. */
  #waiting: Dispatch[] = []
  /** Requests that wait until a connection is idle or closed, because the maximum number of connections is open. */
  #blocked: Dispatch[] = []
  /** Connections released in this iteration of the event loop. */
  #resting: Connection[] = []
  /** Connections that are ready for reuse. The most recently used connection is last. */
  #idle: Connection[] = []
  #roundEnds = false
  /** Number of idle checks so far. */
  #looks = 0
  #connecting = 0
  #watch: NodeJS.Timeout | undefined
  #closing: (() => void) | undefined
  #closed = false

  constructor(origin: string, options: ConnectionPoolOptions) {
    const { hostname, host, protocol, port } = new URL(origin)
    this.#address = { hostname: hostname.replace(/^\[|\]$/g, ''), host, protocol, port }
    this.#options = options
  }

  /**
   * Sends a request. The handler receives all events, after this call.
   * @throws {UpstreamError} ERR_UPSTREAM_UNFORWARDABLE, ERR_UPSTREAM_CLOSED; the handler is then not called.
   */
  dispatch(request: OutgoingRequest, handler: DispatchHandler): DispatchController {
    if (this.#closed || this.#closing !== undefined) throw poolClosed()
    const { method, path, headers, body, upgrade } = request
    const head = formatRequestHead({
      method,
      path,
      headers,
      upgrade,
      host: this.#address.host,
      hasBody: body !== undefined,
    })
    const dispatch = new Dispatch(request, handler, head)
    this.#waiting.push(dispatch)
    this.#awaitRoundEnd()
    return dispatch
  }

  /** Rejects new requests, and resolves when the last open request is complete. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closing = resolve
      for (const connection of [...this.#idle, ...this.#resting]) connection.drop()
      this.#endWhenOver()
    })
  }

  async destroy(): Promise<void> {
    this.#closed = true
    clearInterval(this.#watch)
    for (const dispatch of [...this.#blocked, ...this.#waiting]) dispatch.fail(poolClosed())
    this.#blocked = []
    this.#waiting = []
    for (const connection of this.#living) connection.socket.destroy(poolClosed())
    this.#endWhenOver()
  }

  released(connection: Connection): void {
    if (this.#closed || this.#closing !== undefined) {
      connection.drop()
      return
    }
    this.#resting.push(connection)
    this.#awaitRoundEnd()
  }

  closed(connection: Connection): void {
    this.#living.delete(connection)
    this.#countClosed()
    this.#endWhenOver()
  }

  upgraded(connection: Connection): void {
    this.#living.delete(connection)
    connection.socket.once('close', () => this.#countClosed())
    this.#endWhenOver()
  }

  /** Starts blocked requests at the end of this iteration of the event loop. */
  resume(): void {
    if (this.#blocked.length > 0) this.#awaitRoundEnd()
  }

  #countClosed(): void {
    const { connections } = this.#options
    connections.open -= 1
    connections.onClosed()
  }

  endRound(): void {
    this.#roundEnds = false
    if (this.#blocked.length > 0) {
      this.#waiting = [...this.#blocked, ...this.#waiting]
      this.#blocked = []
    }
    const waiting = this.#waiting
    if (waiting.length > 0) {
      this.#waiting = []
      for (const dispatch of waiting) this.#start(dispatch)
    }
    const resting = this.#resting
    if (resting.length === 0) return
    for (const connection of resting) {
      connection.idleUntilLook = this.#looks + this.#idleLooks(connection)
      this.#idle.push(connection)
    }
    resting.length = 0
    this.resume()
    this.#watch ??= setInterval(() => this.#checkIdle(), IDLE_CHECK_MS).unref()
  }

  /**
   * `setImmediate` runs after the poll phase. At that time, all bytes received before the poll phase have been read.
   */
  #awaitRoundEnd(): void {
    if (this.#roundEnds) return
    this.#roundEnds = true
    setImmediate(endRound, this)
  }

  #idleLooks({ keepAliveMs }: Connection): number {
    const idleMs = keepAliveMs === undefined ? this.#options.idleMs : keepAliveMs - KEEP_ALIVE_MARGIN_MS
    return Math.floor(Math.min(idleMs, MAX_IDLE_MS) / IDLE_CHECK_MS)
  }

  #start(dispatch: Dispatch): void {
    if (dispatch.over) {
      this.#endWhenOver()
      return
    }
    const connection = dispatch.request.upgrade ? undefined : this.#takeIdle()
    if (connection !== undefined) connection.send(dispatch)
    else if (this.#options.connections.open < this.#options.connections.max) this.#connect(dispatch)
    else {
      this.#blocked.push(dispatch)
      // An upgrade needs a new connection.
      if (dispatch.request.upgrade) this.#idle.pop()?.drop()
    }
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return undefined
      if (this.#keeps(connection)) return connection
      connection.drop()
    }
  }

  #connect(dispatch: Dispatch): void {
    const { connect, connectPlainly } = this.#options
    const { upgrade } = dispatch.request
    this.#connecting += 1
    this.#options.connections.open += 1
    const connectTo = upgrade ? connectPlainly : connect
    connectTo(this.#address, (...[error, socket]) => {
      this.#connecting -= 1
      if (error !== null) {
        this.#countClosed()
        dispatch.fail(this.#closed ? poolClosed() : error)
      } else if (this.#closed) {
        this.#countClosed()
        socket.destroy()
        dispatch.fail(poolClosed())
      } else this.#connected(socket as Socket, dispatch)
      this.#endWhenOver()
    })
  }

  #connected(socket: Socket, dispatch: Dispatch): void {
    const connection = new Connection(socket, this)
    this.#living.add(connection)
    if (dispatch.request.upgrade) socket.on('data', (chunk: Buffer) => connection.receive(chunk))
    else readInto(socket, connection)
    if (!dispatch.over) connection.send(dispatch)
    else if (dispatch.request.upgrade) connection.drop()
    else this.released(connection)
  }

  #checkIdle(): void {
    this.#looks += 1
    this.#idle = this.#idle.filter((connection) => {
      const keeps = this.#keeps(connection)
      if (!keeps) connection.drop()
      return keeps
    })
    if (this.#idle.length > 0) return
    clearInterval(this.#watch)
    this.#watch = undefined
  }

  #keeps(connection: Connection): boolean {
    return connection.usable && this.#looks < connection.idleUntilLook
  }

  #endWhenOver(): void {
    if (
      this.#closing === undefined ||
      this.#living.size + this.#connecting + this.#waiting.length + this.#blocked.length > 0
    )
      return
    clearInterval(this.#watch)
    this.#closing()
  }
}

function endRound(pool: ConnectionPool): void {
  pool.endRound()
}

function poolClosed(): UpstreamError {
  return new UpstreamError('ERR_UPSTREAM_CLOSED', 'the connection pool is closed')
}
