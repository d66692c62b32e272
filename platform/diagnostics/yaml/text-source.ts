import { constants, readFileSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, open, readFile, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { errorCode } from '../error-code.ts'

/** Result of reading a text file: its text without a byte order mark, or the reason for the failure. Plain data. */
export type TextSource =
  | { readonly text: string }
  | { readonly fault: 'folder' | 'irregular' | 'outside' | 'utf16' | 'not_utf8' }
  | { readonly fault: 'too_large'; readonly bytes: number; readonly limit: number }
  /** Error code of the operating system, e.g. `ENOENT`. */
  | { readonly fault: 'unreadable'; readonly code: string }

/** Maximum file size: a hundred times the usual size of one team's file. A ConfigMap holds at most 1 MiB. */
export const MAX_TEXT_BYTES = 262_144

/** Reads a text file synchronously. Never throws. */
export function readTextSource(file: string, limit = MAX_TEXT_BYTES): TextSource {
  try {
    return findObstacle(statSync(file), limit) ?? decodeText(readFileSync(file))
  } catch (error) {
    return { fault: 'unreadable', code: errorCode(error) }
  }
}

/** Reads a text file without blocking the event loop. Never rejects. */
export async function readTextSourceAsync(file: string): Promise<TextSource> {
  try {
    return findObstacle(await stat(file), MAX_TEXT_BYTES) ?? decodeText(await readFile(file))
  } catch (error) {
    return { fault: 'unreadable', code: errorCode(error) }
  }
}

/**
 * Reads a text file of a folder with untrusted authors. The authors must not read other files of this machine, so a
 * link must not lead outside of the folder. The size limit also applies to files that grow during the read, and to
 * files without a known size. Never rejects.
 * @param root real path of the folder.
 */
export async function readTextSourceInside(root: string, file: string): Promise<TextSource> {
  let handle: FileHandle | undefined
  try {
    const real = await realpath(file)
    if (!isInside(root, real)) return { fault: 'outside' }
    handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    return findObstacle(await handle.stat(), MAX_TEXT_BYTES) ?? (await readBounded(handle))
  } catch (error) {
    return { fault: 'unreadable', code: errorCode(error) }
  } finally {
    await handle?.close()
  }
}

/** Returns whether a real path is a folder or a path in this folder. */
export function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
}

async function readBounded(handle: FileHandle): Promise<TextSource> {
  const bytes = Buffer.allocUnsafe(MAX_TEXT_BYTES + 1)
  let length = 0
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length)
    if (bytesRead === 0) return decodeText(bytes.subarray(0, length))
    length += bytesRead
  }
  return { fault: 'too_large', bytes: length, limit: MAX_TEXT_BYTES }
}

function findObstacle(status: Stats, limit: number): TextSource | undefined {
  if (status.isDirectory()) return { fault: 'folder' }
  if (!status.isFile()) return { fault: 'irregular' }
  if (status.size > limit) return { fault: 'too_large', bytes: status.size, limit }
  return undefined
}

/** Decodes UTF-8 text, and removes its byte order mark. */
export function decodeText(
  bytes: Buffer,
): { readonly text: string } | { readonly fault: 'utf16' | 'not_utf8' } {
  const mark = bytes.subarray(0, 2).toString('hex')
  if (mark === 'fffe' || mark === 'feff') return { fault: 'utf16' }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { fault: 'not_utf8' }
  }
}
