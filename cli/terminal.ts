import { visibleText } from '../platform/diagnostics/visible-text.ts'

export type Terminal = {
  readonly out: { write(text: string): unknown }
  /** Errors and notices only. */
  readonly err: { write(text: string): unknown }
  readonly input: AsyncIterable<Buffer | string>
  /** True if standard input is a terminal. */
  readonly isInputTyped: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** The working folder, absolute. Paths in arguments are relative to this folder. */
  readonly folder: string
  /** True when `out` supports colors. */
  readonly colour: boolean
  /** Resolves when the reader of `out` has exited, e.g. with `| head`. */
  readonly readerGone: Promise<void>
}

/** Returns the terminal of this process. Applies NO_COLOR and FORCE_COLOR by the rules of Node.js. */
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
    // Only terminal streams have hasColors().
    colour: stdout.hasColors?.() ?? (forced && (env['NO_COLOR'] ?? '') === ''),
    readerGone: new Promise((resolve) => {
      for (const stream of [stdout, stderr])
        stream.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') reportLostOutput(error)
          if (stream === stdout) resolve()
        })
    }),
  }
}

/** The command stops reading a password after this number of bytes. */
const PASSWORD_LIMIT_BYTES = 4_096

/** Reads a new password from the first line of standard input. A line that is longer than the limit may be cut off. */
export async function readPassword(account: string, terminal: Terminal): Promise<string> {
  if (terminal.isInputTyped)
    terminal.err.write(`Password for ${visibleText(account)} (visible while you type; a pipe is safer): `)
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of terminal.input) {
    const buffer = Buffer.from(part)
    parts.push(buffer)
    bytes += buffer.length
    if (buffer.includes('\n') || bytes > PASSWORD_LIMIT_BYTES) break
  }
  const [line = ''] = Buffer.concat(parts).toString('utf8').split(/\r?\n/, 1)
  return line
}

/** Reports incomplete output, because an incomplete result is unusable. Sets an exit code other than 0. */
function reportLostOutput(error: Error): void {
  if (isLossReported) return
  isLossReported = true
  process.stderr.write(`scopegate: the output cannot be written: ${error.message}\n`)
  process.once('exit', (code) => {
    if (code === 0) process.exitCode = EXIT_OUTPUT_FAILED
  })
}

const EXIT_OUTPUT_FAILED = 1
let isLossReported = false

/**
 * Reads standard input to its end, at most `limitBytes` bytes.
 * @returns the text, or undefined when the input is longer.
 */
export async function readInput(
  { input }: Pick<Terminal, 'input'>,
  limitBytes: number,
): Promise<string | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of input) {
    const buffer = Buffer.from(part)
    bytes += buffer.length
    if (bytes > limitBytes) return undefined
    parts.push(buffer)
  }
  return Buffer.concat(parts).toString('utf8')
}
