/** What a verb has of the outside. */
export type Terminal = {
  /** What it was asked for. */
  readonly out: { write(text: string): unknown }
  /** What went wrong, and nothing else. */
  readonly err: { write(text: string): unknown }
  readonly input: AsyncIterable<Buffer | string>
  /** Whether a person types the input. */
  readonly isInputTyped: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where it was typed; paths are relative to it. Absolute. */
  readonly folder: string
  /** Whether `out` shows colours. */
  readonly colour: boolean
  /** Resolves when nobody reads `out` any more, e.g. below `| head`. */
  readonly readerGone: Promise<void>
}

/** The terminal of this process. NO_COLOR and FORCE_COLOR count as Node.js reads them. */
export function processTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process
  const forced = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0'
  return {
    out: stdout,
    err: stderr,
    input: stdin,
    isInputTyped: stdin.isTTY === true,
    env,
    folder: process.cwd(),
    // A stream that is no terminal has no hasColors().
    colour: stdout.hasColors?.() ?? (forced && (env['NO_COLOR'] ?? '') === ''),
    readerGone: new Promise((resolve) => {
      for (const stream of [stdout, stderr])
        stream.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') tellOfLoss(error)
          if (stream === stdout) resolve()
        })
    }),
  }
}

/** Half an output is no output: whatever the verb made of it, the exit code says so. */
function tellOfLoss(error: Error): void {
  if (isLossTold) return
  isLossTold = true
  process.stderr.write(`scopegate: the output cannot be written: ${error.message}\n`)
  process.once('exit', (code) => {
    if (code === 0) process.exitCode = EXIT_LOST
  })
}

const EXIT_LOST = 1
let isLossTold = false
