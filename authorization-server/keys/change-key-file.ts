import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join, sep } from 'node:path'
import { readSecretText } from '../../platform/config/read-secret-file.ts'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import { visibleText } from '../../platform/diagnostics/visible-text.ts'

const OWNER_ONLY = 0o600

/**
 * Changes a file of keys. A lock prevents concurrent changes, and readers get either the old or the new content. The
 * function follows a symbolic link and keeps owner and mode of the file.
 * @param change returns the new content. If `change` throws, the file stays unchanged.
 * @throws {BootError} ERR_KEY_FILE when the file is missing or cannot be changed. ERR_SECRET_FILE when the file cannot
 * be read.
 */
export async function changeKeyFile(file: string, change: (text: string) => string): Promise<void> {
  const target = await findTarget(file)
  const unlock = await lock(target)
  try {
    const before = await readKeyFile(target)
    const after = change(before)
    if (after !== before) await replace(target, before, after)
  } finally {
    await unlock()
  }
}

/** @throws {BootError} ERR_KEY_FILE when the file is missing. ERR_SECRET_FILE when the file cannot be read. */
export async function readKeyFile(file: string): Promise<string> {
  try {
    return await readSecretText(file)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw missing(file)
    throw new BootError('ERR_SECRET_FILE', `Cannot read ${file} (${errorCode(error)}).`)
  }
}

/** Returns the files that an interrupted command left beside a file of keys. These files contain private keys. */
export async function findDrafts(file: string): Promise<readonly string[]> {
  const target = await realpath(file)
  const prefix = `${basename(target)}.`
  const names = await readdir(dirname(target)).catch(() => [])
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+-[0-9a-f]{12}$/.test(name.slice(prefix.length)))
    .map((name) => join(dirname(target), name))
}

/** Follows symbolic links. Rejects the volume of a Kubernetes Secret or ConfigMap, which only the kubelet changes. */
async function findTarget(file: string): Promise<string> {
  const target = await realpath(file).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') throw missing(file)
    throw keyFileError(`Cannot read ${file} (${errorCode(error)}).`)
  })
  const isMounted = dirname(target)
    .split(sep)
    .some((name) => name.startsWith('..'))
  if (isMounted) throw mountedVolume(file)
  return target
}

function missing(file: string): BootError {
  return keyFileError(
    `${file} does not exist. Start the authorization server once, or correct signingKeysFile or --file.`,
  )
}

function mountedVolume(file: string): BootError {
  return keyFileError(
    `${file} is in a mounted volume, which this command cannot change. Copy the file, change the copy with --file, and update the Secret (docs/rotate-keys-and-secrets.md).`,
  )
}

function keyFileError(message: string): BootError {
  return new BootError('ERR_KEY_FILE', message)
}

/**
 * Creates a lock file. Never removes the lock of another process. Otherwise two commands could remove an old lock and
 * continue at the same time.
 * @returns a function that removes the lock.
 */
async function lock(target: string): Promise<() => Promise<void>> {
  const file = `${target}.lock`
  try {
    const handle = await open(file, 'wx', OWNER_ONLY)
    const unlock = (): Promise<void> => rm(file, { force: true })
    try {
      const startedAt = new Date().toISOString()
      await handle.writeFile(JSON.stringify({ pid: process.pid, host: hostname(), startedAt }))
    } catch (error) {
      await unlock()
      throw error
    } finally {
      await handle.close()
    }
    return unlock
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw cannotWrite(target, error)
    throw keyFileError(
      `Another command changes ${target} (lock ${file}, ${await describeHolder(file)}). If the command has ended, remove the lock.`,
    )
  }
}

async function describeHolder(file: string): Promise<string> {
  try {
    const { pid, host, startedAt } = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>
    const holder = `process ${Number(pid)} on host ${visibleText(String(host))} since ${visibleText(String(startedAt))}`
    return host === hostname() && !isRunning(Number(pid)) ? `${holder}, which no longer runs` : holder
  } catch {
    return 'unknown process'
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

async function replace(target: string, before: string, after: string): Promise<void> {
  const draft = `${target}.${process.pid}-${randomBytes(6).toString('hex')}`
  try {
    await writeDraft(draft, after, await stat(target), target)
    if ((await readSecretText(target)) !== before)
      throw keyFileError(
        `${target} changed while the command ran. Nothing was written. Run the command again.`,
      )
    await rename(draft, target)
    await syncFolder(dirname(target))
  } catch (error) {
    throw error instanceof BootError ? error : cannotWrite(target, error)
  } finally {
    await rm(draft, { force: true }).catch(() => undefined)
  }
}

/** Writes the new content beside the file, with owner and mode of the file. */
async function writeDraft(
  draft: string,
  text: string,
  { uid, gid, mode }: Stats,
  target: string,
): Promise<void> {
  const handle = await open(draft, 'wx', OWNER_ONLY)
  try {
    await handle.writeFile(text)
    const own = await handle.stat()
    if (own.uid !== uid || own.gid !== gid)
      await handle.chown(uid, gid).catch((error: unknown) => {
        throw keyFileError(
          `Cannot keep the owner ${uid}:${gid} of ${target} (${errorCode(error)}). Run the command as this user.`,
        )
      })
    await handle.chmod(mode & 0o777)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes the new name of a file durable. Ignores failures, because some folders cannot be opened or synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

function cannotWrite(target: string, error: unknown): BootError {
  const code = errorCode(error)
  // A single file that is mounted into a container cannot be replaced.
  if (code === 'EBUSY' || code === 'EROFS') return mountedVolume(target)
  return keyFileError(
    `Cannot write ${target} (${code}). Run the command as the owner of the folder ${dirname(target)}.`,
  )
}
