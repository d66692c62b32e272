import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { decodeText } from '../diagnostics/yaml/text-source.ts'

/** Maximum size of a file with secrets or keys. Bytes. */
const MAX_BYTES = 262_144

/**
 * Reads a file with secrets. The file must be a regular file of at most 256 KiB of UTF-8 text. Never
 * waits for the writer of a FIFO.
 * @throws {Error} with a `code`: the code of the system, or the reason as text.
 */
export async function readSecretText(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return await readLimited(handle)
  } finally {
    await handle.close()
  }
}

async function readLimited(handle: FileHandle): Promise<string> {
  const stats = await handle.stat()
  if (stats.isDirectory()) throw unusable('EISDIR')
  if (!stats.isFile()) throw unusable('not a regular file')
  const buffer = Buffer.alloc(MAX_BYTES + 1)
  let bytes = 0
  while (bytes < buffer.length) {
    const { bytesRead } = await handle.read(buffer, bytes)
    if (bytesRead === 0) return toText(buffer.subarray(0, bytes))
    bytes += bytesRead
  }
  throw unusable('larger than 256 KiB')
}

function toText(bytes: Buffer): string {
  const decoded = decodeText(bytes)
  if ('text' in decoded) return decoded.text
  throw unusable(decoded.fault === 'utf16' ? 'UTF-16 text, not UTF-8' : 'not UTF-8 text')
}

function unusable(code: string): Error {
  return Object.assign(new Error(`the file is not usable: ${code}`), { code })
}
