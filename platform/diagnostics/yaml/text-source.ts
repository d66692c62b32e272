import { readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { errorCode } from '../error-code.ts'

/** Result of reading a text file: its text without a byte order mark, or the reason for the failure. Plain data. */
export type TextSource =
  | { readonly text: string }
  | { readonly fault: 'folder' | 'irregular' | 'utf16' | 'not_utf8' }
  | { readonly fault: 'too_large'; readonly bytes: number; readonly limit: number }
  /** Error code of the operating system, e.g. `ENOENT`. */
  | { readonly fault: 'unreadable'; readonly code: string }

/** Maximum file size: a hundred times the usual size of one team's file. A ConfigMap holds at most 1 MiB. */
export const MAX_TEXT_BYTES = 262_144

/** Reads a text file synchronously. Never throws. */
export function readTextSource(file: string, limit = MAX_TEXT_BYTES): TextSource {
  try {
    return findObstacle(statSync(file), limit) ?? decode(readFileSync(file))
  } catch (error) {
    return { fault: 'unreadable', code: errorCode(error) }
  }
}

/** Reads a text file without blocking the event loop. Never rejects. */
export async function readTextSourceAsync(file: string): Promise<TextSource> {
  try {
    return findObstacle(await stat(file), MAX_TEXT_BYTES) ?? decode(await readFile(file))
  } catch (error) {
    return { fault: 'unreadable', code: errorCode(error) }
  }
}

function findObstacle(status: Stats, limit: number): TextSource | undefined {
  if (status.isDirectory()) return { fault: 'folder' }
  if (!status.isFile()) return { fault: 'irregular' }
  if (status.size > limit) return { fault: 'too_large', bytes: status.size, limit }
  return undefined
}

function decode(bytes: Buffer): TextSource {
  const mark = bytes.subarray(0, 2).toString('hex')
  if (mark === 'fffe' || mark === 'feff') return { fault: 'utf16' }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { fault: 'not_utf8' }
  }
}
