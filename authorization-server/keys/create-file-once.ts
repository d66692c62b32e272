import { randomBytes } from 'node:crypto'
import { chmod, link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readSecretText } from '../../platform/config/read-secret-file.ts'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import { makeFolder } from '../../platform/process/make-folder.ts'

const OWNER_ONLY = 0o600

/**
 * Reads a file of secrets. If the file does not exist, creates the file with access for the owner only. If several
 * processes start concurrently, one process creates the file, and all processes read the same complete content.
 * @throws {BootError} ERR_DATA_DIR when the folder cannot be created or written, ERR_SECRET_FILE when the file cannot
 * be read.
 */
export async function createFileOnce(file: string, make: () => Promise<string>): Promise<string> {
  const existing = await readIfExists(file)
  if (existing !== undefined) return existing
  const draft = `${file}.${process.pid}-${randomBytes(6).toString('hex')}`
  try {
    makeFolder(dirname(file))
    const handle = await open(draft, 'wx', OWNER_ONLY)
    try {
      await handle.writeFile(await make())
      await handle.sync()
    } finally {
      await handle.close()
    }
    await chmod(draft, OWNER_ONLY)
    await linkUnlessThere(draft, file)
  } catch (cause) {
    throw new BootError(
      'ERR_DATA_DIR',
      `Cannot write ${file} (${errorCode(cause)}). Make the folder ${dirname(file)} writable for this user, or choose another data folder (dataDir, SCOPEGATE_DATA_DIR).`,
      { cause },
    )
  } finally {
    await rm(draft, { force: true }).catch(() => undefined)
  }
  return readSecretFile(file, 'the file that was just written')
}

/**
 * Reads a configured file of secrets.
 * @param setting name of the setting with the path, for the message.
 * @throws {BootError} ERR_SECRET_FILE when the file cannot be read.
 */
export async function readSecretFile(file: string, setting: string): Promise<string> {
  try {
    return await readSecretText(file)
  } catch (cause) {
    throw unreadable(file, setting, cause)
  }
}

async function readIfExists(file: string): Promise<string | undefined> {
  try {
    return await readSecretText(file)
  } catch (cause) {
    // ENOTDIR: the folder in the path is a file. The caller then tries to create the folder, and the error of this
    // attempt contains the remedy.
    if (errorCode(cause) === 'ENOENT' || errorCode(cause) === 'ENOTDIR') return undefined
    throw unreadable(file, 'generated once', cause)
  }
}

function unreadable(file: string, setting: string, cause: unknown): BootError {
  return new BootError(
    'ERR_SECRET_FILE',
    `Cannot read ${file} (${setting}): ${errorCode(cause)}. Check that the file exists and that this user may read it.`,
    { cause },
  )
}

/**
 * Links the draft to its final name. If another process created the file first, link() fails and the file of the other
 * process stays.
 */
async function linkUnlessThere(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause
  }
}
