import { constants } from 'node:http2'

export type ClientFramesOptions = {
  /** Called for a window that is too large. RFC 9113 section 6.9.1. nghttp2 may open the stream later: see `hasFailed()`. */
  readonly onWindowError: (streamId: number) => void
  /** Returns whether the client ends a body too early, but can still get the complete response. */
  readonly isShortBody: (streamId: number, bodyBytes: number) => boolean
  /** Returns the number of bytes that the gateway has sent on the connection. */
  readonly sentBytes: () => number
}

/** Sizes in bytes. RFC 9113 sections 3.4, 4.1, 6.3, 6.5, 6.7 and 6.9. */
const PREFACE_BYTES = 24
const HEADER_BYTES = 9
const PRIORITY_BYTES = 5
const PING_BYTES = 8
const WINDOW_UPDATE_BYTES = 4
const SETTING_BYTES = 6

/** RFC 9113 section 6. */
const TYPE = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  reset: 0x3,
  settings: 0x4,
  ping: 0x6,
  goaway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const
const END_STREAM = 0x1
const ACK = 0x1
const END_HEADERS = 0x4
const PADDED = 0x8
/** The bytes of a payload that a check reads or removes. Node.js permits 32 settings in a frame. */
const READ_BYTES: Readonly<Record<number, number>> = {
  [TYPE.priority]: PRIORITY_BYTES,
  [TYPE.settings]: 32 * SETTING_BYTES,
  [TYPE.ping]: PING_BYTES,
  [TYPE.windowUpdate]: WINDOW_UPDATE_BYTES,
}
const INITIAL_WINDOW_SIZE = 0x4
/** Without the reserved bit of a stream identifier or an increment, and without the exclusive bit of a dependency. */
const VALUE_BITS = 0x7f_ff_ff_ff
const DEFAULT_WINDOW_BYTES = 65_535
const MAX_WINDOW_BYTES = 0x7f_ff_ff_ff
const GOAWAY_BYTES = 8
/**
 * A GOAWAY frame without an error. RFC 9113 section 6.8. nghttp2 gets it in place of the frame with a connection error.
 * Node.js then emits `goaway` after all earlier frames and between two writes, when it can send the GOAWAY of the gateway.
 */
const GOAWAY = Buffer.alloc(HEADER_BYTES + GOAWAY_BYTES)
GOAWAY.writeUIntBE(GOAWAY_BYTES, 0, 3)
GOAWAY.writeUInt8(TYPE.goaway, 3)
/** Maximum number of streams in each set and map. nghttp2 ignores frames of older closed streams. */
const MAX_REMEMBERED_STREAMS = 100

/**
 * Checks the frames of a client for the rules of RFC 9113 that nghttp2 and Node.js do not implement, or for which they
 * close the connection although the error concerns only one stream. nghttp2 checks all other rules.
 */
export class ClientFrames {
  readonly #options: ClientFramesOptions
  /** The start of a frame whose check needs more bytes. */
  #held: Buffer | undefined
  /** Bytes until the next frame, without a held frame. */
  #skipBytes = PREFACE_BYTES
  #connectionError: number | undefined
  /** Only CONTINUATION frames are valid until END_HEADERS. RFC 9113 section 4.3. */
  #isInHeaders = false
  #lastId = 0
  /** The client skipped the streams between these two, and cannot open them. RFC 9113 section 5.1.1. */
  #beforeGapId = 0
  #afterGapId = 0
  /** Streams that the client ended. */
  readonly #ended = new Set<number>()
  /** Received bytes of open bodies without padding. */
  readonly #bodyBytes = new Map<number, number>()
  #initialWindowBytes = DEFAULT_WINDOW_BYTES
  /** Sum of the increments for each stream. Bytes. */
  readonly #increments = new Map<number, number>()
  /** Streams with a window that is too large. */
  readonly #failed = new Set<number>()

  constructor(options: ClientFramesOptions) {
    this.#options = options
  }

  /**
   * The code of the error after which the client must not use the connection further. RFC 9113 section 5.4.1. The session
   * then emits `goaway`.
   */
  get connectionError(): number | undefined {
    return this.#connectionError
  }

  /** Returns the bytes for nghttp2. Returns no bytes after a connection error. */
  check(chunk: Buffer): Buffer[] {
    if (this.#connectionError !== undefined) return []
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk])
    this.#held = undefined
    const passed: Buffer[] = []
    let from = 0
    let at = this.#skipBytes
    while (at < bytes.length) {
      if (at + neededBytes(bytes, at) > bytes.length) {
        this.#held = bytes.subarray(at)
        break
      }
      const end = at + HEADER_BYTES + bytes.readUIntBE(at, 3)
      if (!this.#accepts(bytes, at)) {
        if (at > from) passed.push(bytes.subarray(from, at))
        if (this.#connectionError !== undefined) return [...passed, GOAWAY]
        from = end
      }
      at = end
    }
    this.#skipBytes = this.#held === undefined ? at - bytes.length : 0
    const until = Math.min(at, bytes.length)
    if (until > from) passed.push(bytes.subarray(from, until))
    return passed
  }

  /** Returns whether the window of a stream is too large. nghttp2 may not have opened the stream at the time of the error. */
  hasFailed(streamId: number): boolean {
    return this.#failed.has(streamId)
  }

  /** Returns whether nghttp2 gets the frame. */
  #accepts(bytes: Buffer, at: number): boolean {
    const length = bytes.readUIntBE(at, 3)
    const type = bytes[at + 3] as number
    const flags = bytes[at + 4] as number
    const id = bytes.readUInt32BE(at + 5) & VALUE_BITS
    if (this.#isInHeaders) {
      if (type === TYPE.continuation && (flags & END_HEADERS) !== 0) this.#isInHeaders = false
      return true
    }
    switch (type) {
      case TYPE.data:
        if (this.#isShortBody(id, length, flags)) bytes[at + 4] = flags & ~END_STREAM
        return this.#acceptsMessage(id, flags)
      case TYPE.headers:
        this.#isInHeaders = (flags & END_HEADERS) === 0
        if (id > this.#beforeGapId && id < this.#afterGapId)
          return this.#fail(constants.NGHTTP2_PROTOCOL_ERROR)
        this.#open(id)
        return this.#acceptsMessage(id, flags)
      case TYPE.reset:
        evictOldest(this.#ended.add(id))
        return true
      case TYPE.priority:
        // RFC 9113 section 6.3, and RFC 7540 section 5.3.1.
        if (id === 0 || (length === PRIORITY_BYTES && readValue(bytes, at) === id))
          return this.#fail(constants.NGHTTP2_PROTOCOL_ERROR)
        return true
      case TYPE.settings:
        if ((flags & ACK) === 0) this.#readSettings(bytes, at)
        return true
      case TYPE.ping:
        // The gateway sends no PING. Node.js closes the connection after an unexpected ACK.
        return (flags & ACK) === 0 || id !== 0 || length !== PING_BYTES
      case TYPE.windowUpdate:
        return length !== WINDOW_UPDATE_BYTES || this.#acceptsIncrement(id, readValue(bytes, at))
      default:
        return true
    }
  }

  #open(id: number): void {
    if (id <= this.#lastId) return
    if (id > this.#lastId + 2) {
      this.#beforeGapId = this.#lastId
      this.#afterGapId = id
    }
    this.#lastId = id
    evictOldest(this.#bodyBytes.set(id, 0))
  }

  /**
   * RFC 9113 section 8.1.1 permits a response to a malformed request before the stream error. curl 7.88 ends its body after
   * the headers of an error response. nghttp2 would reset the stream in the middle of the response.
   */
  #isShortBody(id: number, length: number, flags: number): boolean {
    const earlierBytes = this.#bodyBytes.get(id)
    if (earlierBytes === undefined) return false
    if ((flags & (END_STREAM | PADDED)) !== 0) this.#bodyBytes.delete(id)
    else this.#bodyBytes.set(id, earlierBytes + length)
    return (flags & END_STREAM) !== 0 && this.#options.isShortBody(id, earlierBytes + length)
  }

  /** RFC 9113 section 5.1: the states half-closed (remote) and closed. */
  #acceptsMessage(id: number, flags: number): boolean {
    if (this.#ended.has(id)) return this.#fail(constants.NGHTTP2_STREAM_CLOSED)
    if ((flags & END_STREAM) !== 0) evictOldest(this.#ended.add(id))
    return true
  }

  /** RFC 9113 section 6.5.2. */
  #readSettings(bytes: Buffer, at: number): void {
    const end = Math.min(at + HEADER_BYTES + bytes.readUIntBE(at, 3), bytes.length)
    for (let entry = at + HEADER_BYTES; entry + SETTING_BYTES <= end; entry += SETTING_BYTES)
      if (bytes.readUInt16BE(entry) === INITIAL_WINDOW_SIZE)
        this.#initialWindowBytes = bytes.readUInt32BE(entry + 2)
  }

  /**
   * RFC 9113 section 6.9.1. The check assumes that all sent bytes belong to the stream. So it accepts some windows that are
   * too large, but it never rejects a valid increment.
   */
  #acceptsIncrement(id: number, increment: number): boolean {
    // nghttp2 closes the connection if the client has not opened the stream.
    if (id === 0 || id > this.#lastId) return true
    const sum = (this.#increments.get(id) ?? 0) + increment
    evictOldest(this.#increments.set(id, sum))
    const windowBytes = this.#initialWindowBytes + sum - this.#options.sentBytes()
    if (windowBytes <= MAX_WINDOW_BYTES) return true
    evictOldest(this.#failed.add(id))
    this.#options.onWindowError(id)
    return false
  }

  #fail(code: number): false {
    this.#connectionError = code
    return false
  }
}

/** Returns the number of bytes of a frame that its check reads or removes. */
function neededBytes(bytes: Buffer, at: number): number {
  if (at + HEADER_BYTES > bytes.length) return HEADER_BYTES
  const payloadBytes = READ_BYTES[bytes[at + 3] as number] ?? 0
  return HEADER_BYTES + Math.min(payloadBytes, bytes.readUIntBE(at, 3))
}

function evictOldest(streams: Set<number> | Map<number, number>): void {
  if (streams.size <= MAX_REMEMBERED_STREAMS) return
  const [oldest] = streams.keys()
  if (oldest !== undefined) streams.delete(oldest)
}

function readValue(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at + HEADER_BYTES) & VALUE_BITS
}
