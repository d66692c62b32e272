import type { Duplex } from 'node:stream'
import { closeFrame } from './close-frame.ts'
import { FrameScanner } from './frame-scanner.ts'

/** What became of a session, for log and metrics. */
export type SessionEnd = {
  /** The first Close that passed or was sent; 1006 when there was none. RFC 6455 section 7.4.1. */
  readonly code: number
  /** Bytes of frames. */
  readonly fromClient: number
  readonly fromUpstream: number
}

/** Both ends of a WebSocket, and how much goes through it. */
export type WebsocketSessionOptions = {
  readonly client: Duplex
  readonly upstream: Duplex
  /** Of one message, in bytes as they are sent. */
  readonly messageLimitBytes: number
  /** Without a byte either way the session ends. Milliseconds. */
  readonly idleTimeoutMs: number
  readonly onEnd: (end: SessionEnd) => void
}

/** Both sides have this long to close after the first Close, before they are cut off. Milliseconds. */
const CLOSE_TIMEOUT_MS = 3_000
/** RFC 6455 section 7.4.1. */
const GOING_AWAY = 1001
const PROTOCOL_ERROR = 1002
const ABNORMAL = 1006
const MESSAGE_TOO_BIG = 1009
/** Not 1014 (bad gateway): widely used clients take a code that they do not know for a broken frame. */
const UPSTREAM_GONE = 1011

const NOTHING = Buffer.alloc(0)

/** One way through a session. */
type Way = {
  readonly source: Duplex
  readonly sink: Duplex
  readonly scanner: FrameScanner
  readonly fromClient: boolean
  /** The beginning of a frame's head, which is passed on when it is whole. */
  held: Buffer
  bytes: number
  /** Waits for the end of the frame that is passing. */
  close: Buffer | undefined
  /** A Close has been passed or sent: nothing follows it. */
  done: boolean
}

/**
 * An open WebSocket between a client and an upstream. Frames pass as they are, pings and extensions included, with
 * back-pressure both ways; the session can be closed with a code of the gateway's own, between two frames.
 * A frame that breaks RFC 6455, and a message above the limit, are not passed on.
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

  /** Closes both sides: each gets the code as soon as no frame is half sent. */
  close(code: number, reason: string): void {
    this.#code ??= code
    for (const way of this.#ways) {
      if (way.done || way.close !== undefined) continue
      // What goes to the upstream is masked, as a client's.
      way.close = closeFrame(code, reason, way.fromClient)
      if (way.scanner.atBoundary) this.#sendClose(way)
    }
    this.#hurry()
  }

  #passed(way: Way, chunk: Buffer): void {
    this.#idle.refresh()
    const { scanner } = way
    // Nothing counts behind a Close, or behind a frame that is not one.
    if (scanner.closeCode !== undefined || scanner.fault !== undefined) return
    const data = way.held.length === 0 ? chunk : Buffer.concat([way.held, chunk])
    const bytes = scanner.scan(data, way.close !== undefined)
    way.held = bytes === data.length ? NOTHING : data.subarray(bytes)
    if (!way.done && bytes > 0) this.#write(way, bytes === data.length ? data : data.subarray(0, bytes))
    if (way.done) {
      // The answer to our Close: that side may go.
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
    // What its source says from now on is read for its own Close only.
    way.source.resume()
  }

  /** A side that leaves without a Close: the other one is told, unless it has half a frame. */
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
