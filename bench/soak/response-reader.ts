/** A complete response, or the received part of a response. */
export type ParsedResponse = {
  readonly status: number
  /** Names in lower case. For a repeated name, the last value. */
  readonly headers: ReadonlyMap<string, string>
  /** The body without its chunk framing. One character is one byte. */
  readonly body: string
  /**
   * `whole`: complete by its framing. `until_close`: the response has neither a length nor chunks, so the close of the
   * connection ends the response.
   */
  readonly state: 'whole' | 'part' | 'until_close'
}

const BREAK = '\r\n'
const HEAD_END = '\r\n\r\n'

/**
 * Parses the responses on one connection by their framing. Source: RFC 9112 sections 6 and 7. Skips interim responses.
 */
export class ResponseReader {
  #rest = ''

  /** The received bytes after the responses that `take()` has returned. */
  get rest(): string {
    return this.#rest
  }

  /** @param text one character is one byte. */
  push(text: string): void {
    this.#rest += text
  }

  /**
   * Removes and returns the next complete response.
   * @param method method of the request, because a response to HEAD has no body.
   */
  take(method: string): ParsedResponse | undefined {
    const read = this.#read(method)
    if (read?.answer.state !== 'whole') return undefined
    this.#rest = this.#rest.slice(read.end)
    return read.answer
  }

  /** Returns the received part of the next response. Returns undefined while the head is incomplete. */
  peek(method: string): ParsedResponse | undefined {
    return this.#read(method)?.answer
  }

  #read(method: string): { readonly answer: ParsedResponse; readonly end: number } | undefined {
    while (/^HTTP\/1\.1 1\d\d /.test(this.#rest)) {
      const interimEnd = this.#rest.indexOf(HEAD_END)
      if (interimEnd === -1) return undefined
      this.#rest = this.#rest.slice(interimEnd + HEAD_END.length)
    }
    const text = this.#rest
    const headEnd = text.indexOf(HEAD_END)
    if (headEnd === -1) return undefined
    const [first = '', ...lines] = text.slice(0, headEnd).split(BREAK)
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? Number.NaN)
    const from = headEnd + HEAD_END.length
    const length = headers.get('content-length')
    const answer = { status, headers }
    if (method === 'HEAD' || status === 204 || status === 304)
      return { answer: { ...answer, body: '', state: 'whole' }, end: from }
    if (headers.get('transfer-encoding') === 'chunked') {
      const { body, end } = readChunks(text, from)
      return { answer: { ...answer, body, state: end === -1 ? 'part' : 'whole' }, end }
    }
    if (length === undefined)
      return { answer: { ...answer, body: text.slice(from), state: 'until_close' }, end: text.length }
    const end = from + Number(length)
    return {
      answer: { ...answer, body: text.slice(from, end), state: text.length < end ? 'part' : 'whole' },
      end,
    }
  }
}

/** @returns the end of the last chunk, or -1 while the last chunk is incomplete. */
function readChunks(text: string, from: number): { readonly body: string; readonly end: number } {
  let body = ''
  let at = from
  for (;;) {
    const lineEnd = text.indexOf(BREAK, at)
    if (lineEnd === -1) return { body, end: -1 }
    const digits = text.slice(at, lineEnd)
    if (!/^[0-9a-f]{1,8}$/i.test(digits)) return { body, end: -1 }
    const size = Number.parseInt(digits, 16)
    const dataEnd = lineEnd + BREAK.length + size
    body += text.slice(lineEnd + BREAK.length, dataEnd)
    at = dataEnd + BREAK.length
    if (text.length < at) return { body, end: -1 }
    if (size === 0) return { body, end: at }
  }
}
