/**
 * Bytes that arrive in chunks, up to a limit. Copies each chunk into one buffer, because a chunk of one byte takes more than
 * 100 bytes of memory.
 */
export class LimitedBuffer {
  readonly #limitBytes: number
  #bytes = Buffer.alloc(0)
  #size = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get content(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }

  /** @returns whether the limit allows the chunk. A chunk beyond the limit changes nothing. */
  add(chunk: Buffer): boolean {
    const needed = this.#size + chunk.length
    if (needed > this.#limitBytes) return false
    if (needed > this.#bytes.length)
      this.#bytes = Buffer.concat([this.content], Math.min(2 * needed, this.#limitBytes))
    chunk.copy(this.#bytes, this.#size)
    this.#size = needed
    return true
  }
}
