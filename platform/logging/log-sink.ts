/** Writes bytes and tells how many were taken: `fs.write`, or a test's. */
export type WriteBytes = (
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void

/** Where lines go, and how many may wait on their way. */
export type LogSinkOptions = {
  readonly write: WriteBytes
  /** So many characters wait for a slow reader; what comes beyond them is dropped. */
  readonly heldCharacters: number
  /** The line that says how many lines are missing at its place, with its line break. */
  readonly notice: (missingLines: number) => string
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
}

/** Lines on their way; a notice stands for the lines that are missing. */
type Piece = { readonly text: string; readonly missing: number }
type InFlight = {
  readonly bytes: Buffer
  written: number
  readonly missing: number
  /** It begins with the end of a line of which only a part was written. */
  readonly mends: boolean
}

/** What a pipe takes at once. */
const WRITE_CHARACTERS = 64 * 1024
/** A reader that is behind is asked again after 1 ms, then 2 ms, and so on up to this. Milliseconds. */
const LONGEST_WAIT_MS = 128
/** A full disk or a reader that is gone is tried again with the next line after this. Milliseconds. */
const RETRY_AFTER_MS = 1_000
/** A line feed. */
const LINE_END = 0x0a

/**
 * Where log lines go. It never blocks, never throws and holds a bounded number of characters. Lines that cannot be
 * written are dropped and counted exactly; a notice at their place says how many they were. Dropping begins when
 * `heldCharacters` wait or a write fails, and ends when half of them are gone or a write succeeds.
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
  /** The last line that was written lacks its end. */
  #cut = false
  #dropped = 0
  /** Of the dropped ones, those that no notice stands for. */
  #unreported = 0
  readonly #onIdle = new Set<() => void>()

  constructor(options: LogSinkOptions) {
    this.#options = options
  }

  /** Lines that were never written. */
  get droppedLines(): number {
    return this.#dropped
  }

  /** @param lines whole lines, each with its line break. */
  write(lines: string): void {
    if (this.#full && this.#held * 2 <= this.#options.heldCharacters) this.#full = false
    if (this.#held + lines.length > this.#options.heldCharacters) this.#full = true
    if (this.#full || this.#options.tickMs() < this.#brokenUntilMs) {
      this.#drop(countLines(lines))
      return
    }
    this.#report()
    this.#queue.push({ text: lines, missing: 0 })
    this.#held += lines.length
    if (this.#inFlight === undefined) this.#next()
  }

  /** Waits until nothing is left to write, or nothing can be written, at most `timeoutMs` milliseconds. */
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

  /** Takes what nobody is writing at the moment: the process ends now. */
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

  #drop(lines: number): void {
    this.#dropped += lines
    this.#unreported += lines
  }

  #next(): void {
    if (this.#queue.length === 0) this.#report()
    const [first] = this.#queue
    if (first === undefined) {
      this.#inFlight = undefined
      for (const done of [...this.#onIdle]) done()
      return
    }
    // A notice travels alone, so that it is known whether it arrived.
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
      else this.#broke(part)
    })
  }

  #wait(part: InFlight): void {
    this.#waitMs = Math.min(LONGEST_WAIT_MS, Math.max(1, this.#waitMs * 2))
    this.#waiting = setTimeout(() => {
      this.#waiting = undefined
      this.#send(part)
    }, this.#waitMs)
    // A reader that has come to a standstill does not keep a process that is done.
    if (this.#waitMs === LONGEST_WAIT_MS) this.#waiting.unref()
  }

  /** Nothing is kept for later: it may be long, and whoever reads the counter is to know now. */
  #broke(part: InFlight): void {
    const lost = countLines(part.bytes.toString('latin1', firstUnread(part)))
    if (part.missing === 0) this.#drop(lost)
    else if (lost > 0) this.#unreported += part.missing
    for (const piece of this.#queue)
      if (piece.missing > 0) this.#unreported += piece.missing
      else this.#drop(countLines(piece.text))
    this.#queue = []
    this.#held = 0
    this.#full = false
    this.#inFlight = undefined
    this.#brokenUntilMs = this.#options.tickMs() + RETRY_AFTER_MS
    for (const done of [...this.#onIdle]) done()
  }
}

/** Where the lines begin that nobody can read. One that lacks nothing but its end is there. */
function firstUnread({ bytes, written, mends }: InFlight): number {
  if (written === 0) return mends ? 1 : 0
  return bytes[written] === LINE_END && bytes[written - 1] !== LINE_END ? written + 1 : written
}

function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1
  return lines
}
