import { isValueCharacter, TOKEN_CHARACTERS } from './characters.ts'
import { malformedResponse } from './upstream-error.ts'

const CR = 13
const LF = 10
const SEMICOLON = 59
const COLON = 58
/** Maximum number of hexadecimal digits of a chunk size. Sizes up to 281 TB are exact in a JavaScript number. */
const MAX_SIZE_DIGITS = 12
/** Longest chunk extension. Bytes. */
const MAX_SIZE_LINE = 256
const MAX_TRAILERS = 8 * 1024
/**
 * Chunk extensions of RFC 9112 section 7.1.1, without blanks. The decoder rejects control characters before it applies
 * this expression.
 */
const EXTENSIONS = /^(?:;[!#$%&'*+.^`|~\w-]+(?:=(?:[!#$%&'*+.^`|~\w-]+|"(?:[^"\\]|\\.)*"))?)+$/
/** Fields that a parser could use for framing, although they are trailers. RFC 9110 section 6.5.1. */
const NOT_IN_TRAILERS = new Set(['content-length', 'transfer-encoding', 'connection', 'proxy-connection'])

type State =
  | 'size'
  | 'extension'
  | 'size-lf'
  | 'data'
  | 'data-cr'
  | 'data-lf'
  | 'trailer'
  | 'last-lf'
  | 'done'

/**
 * Decodes a chunked body strictly. A size contains only hexadecimal digits, and every line ends with CRLF. Extensions
 * and trailers are validated and dropped. Source: RFC 9112 section 7.1.
 */
export class ChunkedDecoder {
  #state: State = 'size'
  #size = 0
  #digits = 0
  #lineBytes = 0
  #trailerBytes = 0
  #line = ''

  /** Whether the decoder has read the last chunk and the trailers. */
  get done(): boolean {
    return this.#state === 'done'
  }

  /**
   * Reads received bytes.
   * @param emit receives slices of the input. The function returns `false` to pause.
   * @returns the number of bytes read. Reading stops at the end of the body, and after a slice for which `emit`
   * returned `false`.
   * @throws {UpstreamError} ERR_UPSTREAM_PROTOCOL.
   */
  decode(input: Buffer, emit: (piece: Buffer) => boolean): number {
    let at = 0
    while (at < input.length && this.#state !== 'done') {
      if (this.#state === 'data') {
        const to = Math.min(input.length, at + this.#size)
        const piece = input.subarray(at, to)
        this.#size -= to - at
        at = to
        if (this.#size === 0) this.#state = 'data-cr'
        if (!emit(piece)) return at
      } else this.#take(input[at++] as number)
    }
    return at
  }

  #take(byte: number): void {
    switch (this.#state) {
      case 'size':
        this.#takeSize(byte)
        break
      case 'extension':
        this.#countLine()
        if (byte === CR) this.#endExtensions()
        else if (isValueCharacter(byte)) this.#line += String.fromCharCode(byte)
        else throw malformedResponse('a chunk extension has an invalid character')
        break
      case 'size-lf':
        expect(byte, LF)
        this.#state = this.#size === 0 ? 'trailer' : 'data'
        this.#digits = 0
        this.#lineBytes = 0
        break
      case 'data-cr':
        expect(byte, CR)
        this.#state = 'data-lf'
        break
      case 'data-lf':
        expect(byte, LF)
        this.#size = 0
        this.#state = 'size'
        break
      case 'trailer':
        this.#takeTrailer(byte)
        break
      case 'last-lf':
        expect(byte, LF)
        this.#endTrailer()
        break
    }
  }

  #takeSize(byte: number): void {
    const digit = HEX[byte] as number
    if (digit >= 0) {
      if (++this.#digits > MAX_SIZE_DIGITS) throw malformedResponse('a chunk is too large')
      this.#size = this.#size * 16 + digit
      return
    }
    if (this.#digits === 0) throw malformedResponse('a chunk has no size')
    if (byte === CR) this.#state = 'size-lf'
    else if (byte === SEMICOLON) {
      this.#line = ';'
      this.#state = 'extension'
    } else throw malformedResponse('a chunk size is not a hexadecimal number')
  }

  #countLine(): void {
    if (++this.#lineBytes > MAX_SIZE_LINE) throw malformedResponse('a chunk extension is too long')
  }

  #endExtensions(): void {
    if (!EXTENSIONS.test(this.#line)) throw malformedResponse('a chunk extension is invalid')
    this.#line = ''
    this.#state = 'size-lf'
  }

  #takeTrailer(byte: number): void {
    if (++this.#trailerBytes > MAX_TRAILERS) throw malformedResponse('its trailers are too large')
    if (byte === CR) this.#state = 'last-lf'
    else if (isValueCharacter(byte)) this.#line += String.fromCharCode(byte)
    else throw malformedResponse('a trailer has an invalid character')
  }

  #endTrailer(): void {
    if (this.#line === '') {
      this.#state = 'done'
      return
    }
    let at = 0
    while (TOKEN_CHARACTERS[this.#line.charCodeAt(at)] === 1) at += 1
    if (at === 0 || this.#line.charCodeAt(at) !== COLON)
      throw malformedResponse('a trailer has an invalid name')
    if (NOT_IN_TRAILERS.has(this.#line.slice(0, at).toLowerCase()))
      throw malformedResponse('a trailer is a framing header')
    this.#line = ''
    this.#state = 'trailer'
  }
}

/** Value of each hexadecimal digit; -1 for every other byte. */
const HEX = new Int8Array(256).fill(-1)
for (let digit = 0; digit < 16; digit++) {
  HEX[digit.toString(16).charCodeAt(0)] = digit
  HEX[digit.toString(16).toUpperCase().charCodeAt(0)] = digit
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw malformedResponse('a chunk or trailer has an invalid line end')
}
