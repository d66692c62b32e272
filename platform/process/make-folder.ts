import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o700

/**
 * Makes a folder and those above it that are missing, for their owner only unless `mode` says otherwise; nothing when it is there. One level after the
 * other: Node's own recursive mkdir never returns where a parent exists but takes no children, such as `/proc`.
 * @throws {Error} of `mkdir`: EACCES, ENOENT where nothing can be made, ENOTDIR below a file.
 */
export function makeFolder(folder: string, mode = OWNER_ONLY): void {
  if (existsSync(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
