import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o700

/**
 * Creates a folder and its missing parents, for the owner only by default. Does nothing when the folder exists.
 * Creates one level at a time, because Node's recursive mkdir never returns below a parent that allows no children,
 * such as `/proc`.
 * @throws {Error} from `mkdir`: EACCES, ENOENT where the file system allows no folder, ENOTDIR below a file.
 */
export function makeFolder(folder: string, mode = OWNER_ONLY): void {
  if (existsSync(folder)) return
  const parent = dirname(folder)
  if (parent !== folder) makeFolder(parent, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // EEXIST: another process created the folder first.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
