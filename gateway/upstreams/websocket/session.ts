import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { FrameScanner } from './frame-scanner.ts'

export type SessionEnd = {
  /**
   * Close code of the first Close frame that was forwarded or sent. 1006 if a connection ended before such a frame. RFC
   * 6455 section 7.4.1.
   */
  readonly code: number
  /** Bytes of frames, heads included. */
  readonly fromClient: number
  readonly fromUpstream: number
}

export type WebsocketSessionOptions = {
  readonly client: Duplex
  readonly upstream: Duplex
  /** Largest message, in bytes on the wire. */
  readonly messageLimitBytes: number
  /** After this time without bytes in either direction, the gateway closes the session. Milliseconds. */
  readonly idleTimeoutMs: number
  readonly onEnd: (end: SessionEnd) => void
}

/**
 * Maximum time between the first Close frame and the end of both connections. After this time, the gateway destroys the
 * connections. Milliseconds.
 */
const CLOSE_TIMEOUT_MS = 3_000
/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
const PROTOCOL_ERROR = 1002
const ABNORMAL = 1006
const MESSAGE_TOO_BIG = 1009
/**
 * The gateway does not use 1014 (bad gateway). Widely used clients do not recognize 1014 and treat the Close frame as
 * invalid.
 */
const UPSTREAM_GONE = 1011

const NOTHING = Buffer.alloc(0)

/** One direction of a session. */
type Way = {
  readonly source: Duplex
  readonly sink: Duplex
  readonly scanner: FrameScanner
  readonly fromClient: boolean
  /** Start of an incomplete frame head. The gateway forwards these bytes when the head is complete. */
  held: Buffer
  bytes: number
  /** Close frame that waits for the end of the current frame. */
  close: Buffer | undefined
  /** Set after the gateway has forwarded or sent a Close frame. The gateway then sends no further frame. */
  done: boolean
}

/**
 * An open WebSocket between a client and an upstream. Frames are forwarded unchanged, including pings and extensions,
 * with backpressure in both directions. The gateway can close the session between two frames, with its own close code.
 * Frames that violate RFC 6455 and messages above the limit are not forwarded.
 */
export class WebsocketSession {
  readonly #options: WebsocketSessionOptions
  readonly #ways: readonly [up: Way, down: Way]
  readonly #idle: NodeJS.Timeout
  #deadline: NodeJS.Timeout | undefined
  #code: number | undefined
  #open = 2

  constructor(options: WebsocketSessionOptions) {
    this.#options = options
    const { client, upstream, messageLimitBytes } = options
    this.#ways = [
      aWay(client, upstream, new FrameScanner({ masked: true, messageLimitBytes }), true),
      aWay(upstream, client, new FrameScanner({ masked: false, messageLimitBytes }), false),
    ]
    this.#idle = setTimeout(() => this.close(GOING_AWAY, 'idle'), options.idleTimeoutMs)
    for (const way of this.#ways) {
      const { source } = way
      source.on('data', (chunk: Buffer) => this.#passed(way, chunk))
      source.on('end', () => this.#sourceEnded(way))
      source.on('error', () => undefined)
      source.once('close', () => {
        this.#sourceEnded(way)
        this.#sideClosed()
      })
      if (source.destroyed) queueMicrotask(() => source.emit('close'))
    }
  }

  /**
   * Closes the session. The client and the upstream get a Close frame with the code, each at the next frame boundary.
   */
  close(code: number, reason: string): void {
    this.#code ??= code
    for (const way of this.#ways) {
      if (way.done || way.close !== undefined) continue
      // For the upstream, the gateway is the client and therefore masks its frames.
      way.close = closeFrame(code, reason, way.fromClient)
      if (way.scanner.atBoundary) this.#sendClose(way)
    }
    this.#hurry()
  }

  #passed(way: Way, chunk: Buffer): void {
    this.#idle.refresh()
    const { scanner } = way
    // Bytes after a Close frame or a faulty frame are discarded.
    if (scanner.closeCode !== undefined || scanner.fault !== undefined) return
    const data = way.held.length === 0 ? chunk : Buffer.concat([way.held, chunk])
    const bytes = scanner.scan(data, way.close !== undefined)
    way.held = bytes === data.length ? NOTHING : data.subarray(bytes)
    if (!way.done && bytes > 0) this.#write(way, bytes === data.length ? data : data.subarray(0, bytes))
    if (way.done) {
      // The Close frame is the reply to the gateway's own Close frame, so the connection to this peer can end.
      if (scanner.closeCode !== undefined && this.#ways.every((one) => one.done)) way.source.end()
      return
    }
    if (scanner.closeCode !== undefined) {
      way.done = true
      this.#code ??= scanner.closeCode
      this.#hurry()
    } else if (scanner.fault !== undefined) {
      const [code, reason] =
        scanner.fault === 'protocol'
          ? [PROTOCOL_ERROR, 'protocol error']
          : [MESSAGE_TOO_BIG, 'message too big']
      way.source.pause()
      this.close(code, reason)
    } else if (way.close !== undefined && scanner.atBoundary) this.#sendClose(way)
  }

  #write(way: Way, data: Buffer): void {
    way.bytes += data.length
    const { source, sink } = way
    if (!sink.writable || sink.write(data)) return
    source.pause()
    sink.once('drain', () => source.resume())
  }

  #sendClose(way: Way): void {
    way.done = true
    if (way.close !== undefined && way.sink.writable) way.sink.write(way.close)
    // The gateway reads further bytes of the source only to find the Close frame of the source.
    way.source.resume()
  }

  /**
   * Handles the end of the connection to one peer. If this peer sent no Close frame, the gateway sends a Close frame to
   * the other peer. If only part of a frame was forwarded, the gateway destroys the connection to the other peer
   * instead.
   */
  #sourceEnded(way: Way): void {
    const { sink, scanner } = way
    if (!way.done && !scanner.atBoundary) {
      this.#code ??= ABNORMAL
      sink.destroy()
      return
    }
    if (!way.done) {
      this.#code ??= ABNORMAL
      way.close = way.fromClient
        ? closeFrame(GOING_AWAY, '', true)
        : closeFrame(UPSTREAM_GONE, 'upstream gone', false)
      this.#sendClose(way)
    }
    if (sink.writable) sink.end()
    this.#hurry()
  }

  #hurry(): void {
    this.#deadline ??= setTimeout(() => {
      for (const { source } of this.#ways) source.destroy()
    }, CLOSE_TIMEOUT_MS)
  }

  #sideClosed(): void {
    this.#open -= 1
    if (this.#open > 0) return
    clearTimeout(this.#idle)
    clearTimeout(this.#deadline)
    const [up, down] = this.#ways
    this.#options.onEnd({ code: this.#code ?? ABNORMAL, fromClient: up.bytes, fromUpstream: down.bytes })
  }
}

function aWay(source: Duplex, sink: Duplex, scanner: FrameScanner, fromClient: boolean): Way {
  return { source, sink, scanner, fromClient, held: NOTHING, bytes: 0, close: undefined, done: false }
}

/**
 * Creates a Close frame. Set `masked` for frames that go to a server.
 * Source: RFC 6455 sections 5.2, 5.3 and 5.5.1.
 */
function closeFrame(code: number, reason: string, masked: boolean): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  if (!masked) return Buffer.concat([Buffer.from([0x88, payload.length]), payload])
  const mask = randomBytes(4)
  for (let at = 0; at < payload.length; at += 1)
    payload[at] = (payload[at] as number) ^ (mask[at % 4] as number)
  return Buffer.concat([Buffer.from([0x88, 0x80 | payload.length]), mask, payload])
}
