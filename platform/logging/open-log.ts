import { fstatSync, write, writeSync } from 'node:fs'
import { LogSink } from './log-sink.ts'

const STDOUT = 1
/** At a full load's pace this is about a second; in memory at most twice that many bytes. */
const HELD_CHARACTERS = 8 * 1024 * 1024

/** Makes the log of this process, on standard output. For the process's entry only: it changes standard output for everybody. */
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
      // Nobody reads any more.
    }
  })
  return sink
}

/**
 * A write to a pipe that nobody reads waits in one of the few threads that names are resolved in too, and keeps the
 * process from ending. Node opens such a stream without waiting (uv_pipe_open), and what it is told about its end is ours to handle.
 */
function neverBlock(): void {
  const stdout = fstatSync(STDOUT)
  if (stdout.isFIFO() || stdout.isSocket()) process.stdout.on('error', () => undefined)
}
