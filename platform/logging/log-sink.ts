/** Writes bytes and reports the number of written bytes. `fs.write` has the same interface. */
export type WriteBytes = (
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void

export type LogSinkOptions = {
  readonly write: WriteBytes
  /** Maximum number of buffered characters. The sink drops further lines. */
  readonly heldCharacters: number
  /** Returns a line with the number of dropped lines, including its line break. */
  readonly notice: (missingLines: number) => string
  /** A monotonic clock, in milliseconds. */
  readonly tickMs: () => number
  /** Receives the dropped lines, each complete and with its line break. Default: the sink discards the lines. */
  readonly onDropped?: (lines: string) => void
}

/** Buffered lines, or a notice for `missing` dropped lines. */
type Piece = { readonly text: string; readonly missing: number }
type InFlight = {
  readonly bytes: Buffer
  written: number
  readonly missing: number
  /** True when the bytes start with a line break that ends an incomplete line. */
  readonly mends: boolean
}

/** Size at which no further lines are added to a write: the capacity of a pipe. Characters. */
const WRITE_CHARACTERS = 64 * 1024
/** Maximum delay between attempts after EAGAIN. The delay starts at 1 ms and doubles. Milliseconds. */
const LONGEST_WAIT_MS = 128
/**
 * After a failed write, for example to a full disk or a closed pipe, the sink drops all lines for this time.
 * Milliseconds.
 */
const RETRY_AFTER_MS = 1_000
const LINE_END = 0x0a

/**
 * The destination of log lines. The sink never blocks, never throws, and buffers a bounded number of characters.
 * The sink drops lines that it cannot write, and counts them exactly. A notice at the position of the dropped lines
 * contains their number. Dropping starts when the buffer exceeds `heldCharacters`, and stops when half of the buffer is
 * written.
 * After a failed write, dropping lasts for `RETRY_AFTER_MS`.
 */
export class LogSink {
  readonly #options: LogSinkOptions
  #queue: Piece[] = []
  #held = 0
  #inFlight: InFlight | undefined
  #waiting: NodeJS.Timeout | undefined
  #waitMs = 0
  #full = false
  #brokenUntilMs = 0
  /** True when the last written line is incomplete. */
  #cut = false
  #dropped = 0
  /** The number of dropped lines that no notice has reported yet. */
  #unreported = 0
  readonly #onIdle = new Set<() => void>()

  constructor(options: LogSinkOptions) {
    this.#options = options
  }

  get droppedLines(): number {
    return this.#dropped
  }

  /** @param lines whole lines, each with its line break. */
  write(lines: string): void {
    if (this.#full && this.#held * 2 <= this.#options.heldCharacters) this.#full = false
    if (this.#held + lines.length > this.#options.heldCharacters) this.#full = true
    if (this.#full || this.#options.tickMs() < this.#brokenUntilMs) {
      this.#drop(lines)
      return
    }
    this.#report()
    this.#queue.push({ text: lines, missing: 0 })
    this.#held += lines.length
    if (this.#inFlight === undefined) this.#next()
  }

  /** Resolves when the buffer is empty, when a write fails, or after `timeoutMs` milliseconds. */
  whenIdle(timeoutMs: number): Promise<void> {
    if (this.#inFlight === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#onIdle.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#onIdle.add(done)
    })
  }

  /** Removes and returns the lines that are not part of a write in progress. For use when the process exits. */
  takeRest(): string {
    const rest = this.#queue.map(({ text }) => text).join('')
    this.#queue = []
    if (this.#waiting === undefined || this.#inFlight === undefined) return rest
    return this.#inFlight.bytes.subarray(this.#inFlight.written).toString() + rest
  }

  #report(): void {
    if (this.#unreported === 0) return
    const text = this.#options.notice(this.#unreported)
    this.#queue.push({ text, missing: this.#unreported })
    this.#held += text.length
    this.#unreported = 0
  }

  #drop(lines: string): void {
    const count = countLines(lines)
    if (count === 0) return
    this.#dropped += count
    this.#unreported += count
    this.#options.onDropped?.(lines)
  }

  #next(): void {
    if (this.#queue.length === 0) this.#report()
    const [first] = this.#queue
    if (first === undefined) {
      this.#inFlight = undefined
      for (const done of [...this.#onIdle]) done()
      return
    }
    // Writes a notice separately, so that the sink can determine whether the notice was written.
    let count = 1
    let text = first.text
    for (; first.missing === 0 && text.length < WRITE_CHARACTERS; count++) {
      const piece = this.#queue[count]
      if (piece === undefined || piece.missing > 0) break
      text += piece.text
    }
    this.#queue.splice(0, count)
    this.#held -= text.length
    const mends = this.#cut
    const bytes = Buffer.from(mends ? `\n${text}` : text)
    this.#inFlight = { bytes, written: 0, missing: first.missing, mends }
    this.#send(this.#inFlight)
  }

  #send(part: InFlight): void {
    this.#options.write(part.bytes.subarray(part.written), (error, written) => {
      if (error === null) {
        part.written += written
        this.#cut = part.bytes[part.written - 1] !== LINE_END
        this.#waitMs = 0
        if (part.written < part.bytes.length) this.#send(part)
        else this.#next()
        return
      }
      if (error.code === 'EAGAIN') this.#wait(part)
      else this.#failWrite(part)
    })
  }

  #wait(part: InFlight): void {
    this.#waitMs = Math.min(LONGEST_WAIT_MS, Math.max(1, this.#waitMs * 2))
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined
      this.#send(part)
    }, this.#waitMs)
    // A blocked reader must not keep this process alive.
    if (this.#waitMs === LONGEST_WAIT_MS) this.#waiting.unref()
  }

  /** Drops all buffered lines, because the buffer can be large and the counter must be correct immediately. */
  #failWrite(part: InFlight): void {
    const lost = lostLines(part)
    const queued = this.#queue
    this.#queue = []
    this.#held = 0
    this.#inFlight = undefined
    this.#brokenUntilMs = this.#options.tickMs() + RETRY_AFTER_MS
    if (part.missing === 0) this.#drop(lost)
    else if (lost !== '') this.#unreported += part.missing
    for (const { missing, text } of queued)
      if (missing > 0) this.#unreported += missing
      else this.#drop(text)
    for (const done of [...this.#onIdle]) done()
  }
}

/** Returns the lost lines, each complete. A line counts as written if only its line break is missing. */
function lostLines({ bytes, written, mends }: InFlight): string {
  if (written === 0) return bytes.toString('utf8', mends ? 1 : 0)
  if (bytes[written] === LINE_END && bytes[written - 1] !== LINE_END)
    return bytes.toString('utf8', written + 1)
  return bytes.toString('utf8', bytes.lastIndexOf(LINE_END, written - 1) + 1)
}

function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1
  return lines
}
