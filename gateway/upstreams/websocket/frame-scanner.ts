/** Reason why a frame is not forwarded. RFC 6455 section 7.4.1 defines a close code for each reason. */
export type FrameFault = 'protocol' | 'message_too_large'

const OPCODE_CONTINUATION = 0x0
const OPCODE_CLOSE = 0x8
const OPCODE_PONG = 0xa
const FIRST_CONTROL_OPCODE = 0x8
const LAST_DATA_OPCODE = 0x2
const CONTROL_PAYLOAD_BYTES = 125
/** Close code for a Close frame that contains no code. RFC 6455 section 7.1.5. */
const NO_CODE = 1005

/**
 * Scans the frames of one direction of a WebSocket. The scanner tracks frame boundaries, message sizes and the Close
 * frame. Extensions pass unchanged, because the scanner does not read data payloads.
 * Source: RFC 6455 section 5.2.
 */
export class FrameScanner {
  readonly #masked: boolean
  readonly #messageLimitBytes: number
  #left = 0
  #messageBytes = 0
  #inMessage = false
  #close: { readonly mask: Buffer | undefined; payload: Buffer } | undefined
  /** Set when a frame must not be forwarded. The scanner does not scan the bytes after this frame. */
  fault: FrameFault | undefined
  /** Set after a complete Close frame. */
  closeCode: number | undefined

  constructor(options: { readonly masked: boolean; readonly messageLimitBytes: number }) {
    this.#masked = options.masked
    this.#messageLimitBytes = options.messageLimitBytes
  }

  /** Whether the scanned bytes end at a frame boundary. */
  get atBoundary(): boolean {
    return this.#left === 0
  }

  /**
   * Scans the next bytes.
   * @param toBoundary stops at the end of the first frame that ends in these bytes.
   * @returns the number of bytes that may be forwarded. An incomplete frame head at the end is not included. A faulty
   * frame and all bytes after it are not included.
   */
  scan(data: Buffer, toBoundary = false): number {
    let at = 0
    while (at < data.length && this.closeCode === undefined) {
      if (this.#left === 0) {
        const headBytes = this.#readHead(data, at)
        if (headBytes === 0) return at
        at += headBytes
      }
      const taken = Math.min(this.#left, data.length - at)
      if (this.#close !== undefined)
        this.#close.payload = Buffer.concat([this.#close.payload, data.subarray(at, at + taken)])
      this.#left -= taken
      at += taken
      if (this.#left > 0) return at
      if (this.#close !== undefined) this.closeCode = readCloseCode(this.#close.payload, this.#close.mask)
      if (toBoundary) return at
    }
    return at
  }

  /** @returns the length of the frame head; 0 if the head is incomplete or not allowed. */
  #readHead(data: Buffer, at: number): number {
    if (data.length - at < 2) return 0
    const first = data[at] as number
    const second = data[at + 1] as number
    const masked = (second & 0x80) !== 0
    const short = second & 0x7f
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    const headBytes = 2 + lengthBytes + (masked ? 4 : 0)
    const fault = this.#check(first, masked, short)
    if (fault !== undefined) {
      this.fault = fault
      return 0
    }
    if (data.length - at < headBytes) return 0
    const length =
      lengthBytes === 0
        ? short
        : lengthBytes === 2
          ? data.readUInt16BE(at + 2)
          : Number(data.readBigUInt64BE(at + 2))
    const opcode = first & 0x0f
    if (opcode < FIRST_CONTROL_OPCODE) {
      this.#messageBytes = (opcode === OPCODE_CONTINUATION ? this.#messageBytes : 0) + length
      if (this.#messageBytes > this.#messageLimitBytes) {
        this.fault = 'message_too_large'
        return 0
      }
      this.#inMessage = (first & 0x80) === 0
    }
    if (opcode === OPCODE_CLOSE) {
      const mask = masked ? Buffer.from(data.subarray(at + headBytes - 4, at + headBytes)) : undefined
      this.#close = { mask, payload: Buffer.alloc(0) }
    }
    this.#left = length
    return headBytes
  }

  #check(first: number, masked: boolean, short: number): FrameFault | undefined {
    const opcode = first & 0x0f
    const final = (first & 0x80) !== 0
    // Section 5.1: clients mask their frames, servers do not.
    if (masked !== this.#masked) return 'protocol'
    if (opcode >= FIRST_CONTROL_OPCODE)
      return opcode <= OPCODE_PONG && final && short <= CONTROL_PAYLOAD_BYTES ? undefined : 'protocol'
    if (opcode > LAST_DATA_OPCODE) return 'protocol'
    // Section 5.4: the fragments of a message are not interleaved with other messages.
    return (opcode === OPCODE_CONTINUATION) === this.#inMessage ? undefined : 'protocol'
  }
}

function readCloseCode(payload: Buffer, mask: Buffer | undefined): number {
  if (payload.length < 2) return NO_CODE
  const byte = (at: number): number => (payload[at] as number) ^ (mask?.[at] ?? 0)
  return byte(0) * 256 + byte(1)
}
