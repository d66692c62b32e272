import { fstatSync, write, writeSync } from 'node:fs'
import { LogSink } from './log-sink.ts'

const STDOUT = 1
/**
 * Capacity of the buffer: about one second of lines at full load. The buffer takes at most twice as many bytes of
 * memory.
 */
const HELD_CHARACTERS = 8 * 1024 * 1024

/**
 * Opens the log on standard output. Call this function only in the entry point, because the function changes standard
 * output globally.
 */
export function openLog(options: {
  readonly notice: (missingLines: number) => string
  readonly tickMs: () => number
}): LogSink {
  neverBlock()
  const sink = new LogSink({
    ...options,
    heldCharacters: HELD_CHARACTERS,
    write: (bytes, done) => write(STDOUT, bytes, 0, bytes.length, null, done),
  })
  process.once('exit', () => {
    try {
      writeSync(STDOUT, sink.takeRest())
    } catch {
      // The write fails if the reader has closed the pipe.
    }
  })
  return sink
}

/**
 * Prevents blocking writes to standard output. A write to a pipe without a reader blocks a thread of the pool that also
 * resolves names, and prevents the exit of the process. When `process.stdout` is accessed, Node opens the pipe in
 * non-blocking mode (uv_pipe_open). The handler ignores errors of that stream.
 */
function neverBlock(): void {
  const stdout = fstatSync(STDOUT)
  if (stdout.isFIFO() || stdout.isSocket()) process.stdout.on('error', () => undefined)
}
