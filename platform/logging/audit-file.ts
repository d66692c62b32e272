import { constants, writeSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { BootError } from '../diagnostics/boot-error.ts'
import { errorCode } from '../diagnostics/error-code.ts'
import type { LogFormat } from './log-schema.ts'
import { LogSink, type WriteBytes } from './log-sink.ts'
import { formatLines } from './logger.ts'

export type AuditFile = {
  /** @param lines whole lines, each with its line break. */
  write(lines: string): void
  /** Writes the remaining lines, and closes the file. */
  close(): Promise<void>
}

type OpenedFile = { readonly handle: FileHandle; readonly id: string }

/** The named pipe of a log agent must not block the service (`O_NONBLOCK`). */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
/** The owner writes. A log agent in the group of the file can read. */
const MODE = 0o640
/** Capacity of the buffer while the file system is slow. */
const HELD_CHARACTERS = 1024 * 1024
/** Maximum time that `close()` waits for the file system. Milliseconds. */
const CLOSE_LIMIT_MS = 2_000

const REMEDY = 'Create its folder and permit this user to write to it'
const REMEDIES: Readonly<Record<string, string>> = {
  EISDIR: 'The path is a folder. Add the name of a file to the path',
  // The system also returns this code for the path of a socket.
  ENXIO:
    'The path is a named pipe without a reader. Start the program that reads the pipe before this service',
}

/**
 * Opens a file for audit lines. Each write first checks whether the path still names the open file, and otherwise opens
 * the path again, so that a program can rename the file at any time. Several processes can append to one file.
 * @param options.onFailed receives the lines that are not in the file, each complete and with its line break.
 * @throws {BootError} ERR_AUDIT_FILE_UNUSABLE.
 */
export async function openAuditFile(options: {
  readonly file: string
  readonly service: string
  /** The format of the lines. */
  readonly format: LogFormat
  readonly onFailed: (lines: string, error: unknown) => void
}): Promise<AuditFile> {
  const { file, service, format, onFailed } = options
  let opened = await openForAppend(file).catch((error: unknown) => {
    throw new BootError(
      'ERR_AUDIT_FILE_UNUSABLE',
      `${file}: cannot open the file for audit lines (${errorCode(error)}). ${REMEDIES[errorCode(error)] ?? REMEDY}, or change log.auditFile.`,
      { cause: error },
    )
  })
  let failure: unknown

  async function append(bytes: Buffer): Promise<number> {
    const named = await identify(stat(file, { bigint: true })).catch(() => undefined)
    if (named !== opened.id) {
      const { handle } = opened
      opened = await openForAppend(file)
      closeLater(handle)
    }
    return (await opened.handle.write(bytes)).bytesWritten
  }

  const write: WriteBytes = (bytes, done) => {
    append(bytes).then(
      (written) => {
        failure = undefined
        done(null, written)
      },
      (error: NodeJS.ErrnoException) => {
        failure = error
        done(error, 0)
      },
    )
  }
  const fail = (lines: string): void =>
    onFailed(lines, failure ?? new Error('the file system of log.auditFile does not respond'))
  const sink = new LogSink({
    heldCharacters: HELD_CHARACTERS,
    write,
    notice: (lines) => formatLines(missingAuditLines(service, lines), format),
    onDropped: fail,
    tickMs: () => performance.now(),
  })
  const onExit = (): void => {
    try {
      writeSync(opened.handle.fd, sink.takeRest())
    } catch {
      // The process ends, so no other destination is left.
    }
  }
  process.once('exit', onExit)

  return {
    write: (lines) => sink.write(lines),
    async close() {
      await sink.whenIdle(CLOSE_LIMIT_MS)
      process.off('exit', onExit)
      const rest = sink.takeRest()
      if (rest !== '') fail(rest)
      closeLater(opened.handle)
    },
  }
}

async function openForAppend(file: string): Promise<OpenedFile> {
  const handle = await open(file, FLAGS, MODE)
  return { handle, id: await identify(handle.stat({ bigint: true })) }
}

async function identify(stats: Promise<{ readonly dev: bigint; readonly ino: bigint }>): Promise<string> {
  const { dev, ino } = await stats
  return `${dev}:${ino}`
}

/** Closes the file without waiting, because a file system that does not respond must not stop the service. */
function closeLater(handle: FileHandle): void {
  handle.close().catch(() => undefined)
}

function missingAuditLines(service: string, lines: number): string {
  const time = new Date().toISOString()
  const fields = { level: 'warn', time, service, event: 'audit_lines_missing', lines }
  return `${JSON.stringify({ ...fields, msg: 'audit lines are missing at this position: see the log of the service' })}\n`
}
