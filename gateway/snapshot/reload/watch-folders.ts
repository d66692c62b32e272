import { type FSWatcher, type WatchListener, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode } from '../../../platform/diagnostics/error-code.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import { findPolicyFolders, SOURCE_LIMITS } from '../../../policy-engine/load/policy-sources.ts'
import type { PolicyLocations, SourceLocation } from './read-policy-sources.ts'

type FolderWatch = { close(): void }

/** Options for `watchFolders()`. Times are in milliseconds. */
export type FolderWatchOptions = {
  /** Lists the folders to watch. Each check calls this function, because people add and remove nested folders. */
  readonly listDirs: () => readonly string[] | Promise<readonly string[]>
  /** Called when a folder may have changed. Calls run one after another. */
  readonly onChange: () => Promise<unknown>
  readonly logger: Logger
  readonly watch?: (
    dir: string,
    options: { persistent: boolean },
    listener: WatchListener<string>,
  ) => FSWatcher
  readonly quietMs?: number
  readonly checkEveryMs?: number
  readonly missingEveryMs?: number
}

/** Quiet time after a change, so that a writer can finish several files or several writes. Milliseconds. */
const QUIET_MS = 200
/** Maximum delay of a check while a folder changes continuously. Milliseconds. */
const LONGEST_WAIT_MS = 2_000
/** Interval of regular checks, because some file systems do not report changes. Milliseconds. */
const CHECK_EVERY_MS = 30_000
/** Interval of checks for a deleted or unreadable folder. Milliseconds. */
const MISSING_EVERY_MS = 1_000

type Watched = { readonly watcher: FSWatcher; readonly identity: string }

/**
 * Watches folders. A watch on a single file would end when a writer replaces the file. If the system does not support
 * watches, the function relies on the regular checks, and logs one warning. A deleted folder is watched again when a
 * folder with the same path exists.
 */
export function watchFolders(options: FolderWatchOptions): FolderWatch {
  const { onChange, logger, quietMs = QUIET_MS, checkEveryMs = CHECK_EVERY_MS } = options
  const watched = new Map<string, Watched>()
  let quiet: NodeJS.Timeout | undefined
  let touchedSinceMs: number | undefined
  let missing: NodeJS.Timeout | undefined
  let failureLogged = false
  let closed = false
  let checking: Promise<void> = Promise.resolve()

  function touched(): void {
    if (closed) return
    const nowMs = performance.now()
    touchedSinceMs ??= nowMs
    clearTimeout(quiet)
    const leftMs = Math.max(0, touchedSinceMs + LONGEST_WAIT_MS - nowMs)
    quiet = setTimeout(check, Math.min(quietMs, leftMs)).unref()
  }

  function check(): void {
    touchedSinceMs = undefined
    clearTimeout(quiet)
    checking = checking.then(async () => {
      if (closed) return
      await updateWatches()
      await onChange()
    })
  }

  /** Watches new folders, and folders that have replaced a watched folder. */
  async function updateWatches(): Promise<void> {
    const dirs = new Set(await options.listDirs())
    for (const [dir, { watcher }] of watched)
      if (!dirs.has(dir)) {
        watcher.close()
        watched.delete(dir)
      }
    const found = await Promise.all([...dirs].map(watchFolder))
    clearTimeout(missing)
    if (closed || found.every((one) => one)) return
    missing = setTimeout(check, options.missingEveryMs ?? MISSING_EVERY_MS).unref()
  }

  async function watchFolder(dir: string): Promise<boolean> {
    const identity = await identityOf(dir)
    const known = watched.get(dir)
    if (closed || (known !== undefined && known.identity === identity)) return true
    known?.watcher.close()
    watched.delete(dir)
    if (identity === undefined) return false
    try {
      const watcher = (options.watch ?? watch)(dir, { persistent: false }, touched)
      watcher.on('error', (error) => {
        watcher.close()
        logUnavailable(error)
      })
      watched.set(dir, { watcher, identity })
      // Checks again, because the system did not report changes between the last check and the start of this watch.
      touched()
    } catch (error) {
      // The read of the folder reports this error. The system does not report the end of the error.
      if (errorCode(error) === 'EACCES') return false
      logUnavailable(error)
    }
    return true
  }

  function logUnavailable(error: unknown): void {
    if (failureLogged || errorCode(error) === 'ENOENT') return
    failureLogged = true
    logger.warn(
      { event: 'policy_watch_unavailable', reason: errorCode(error), look_every_ms: checkEveryMs },
      'the system does not report file changes: the gateway checks the files at intervals',
    )
  }

  const timer = setInterval(check, checkEveryMs).unref()
  check()
  return {
    close() {
      closed = true
      clearInterval(timer)
      clearTimeout(quiet)
      clearTimeout(missing)
      for (const { watcher } of watched.values()) watcher.close()
      watched.clear()
    },
  }
}

/** Returns an identifier of the folder; undefined if the folder does not exist. */
async function identityOf(dir: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(dir)
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

/**
 * Watches all folders with policies, unless `policyReload` is `manual`.
 * @returns a function that stops the watch.
 */
export function startReloading(
  reload: (trigger: 'watch') => Promise<unknown>,
  options: PolicyLocations & { readonly policyReload: 'watch' | 'manual' } & Pick<
      FolderWatchOptions,
      'logger' | 'watch'
    >,
): () => void {
  const { policiesDir, policySources = [], scopesFile, presetsFile, policyReload, ...others } = options
  if (policyReload === 'manual') return () => undefined
  const files = [scopesFile, presetsFile].flatMap((file) => (file === undefined ? [] : [dirname(file)]))
  const listSource = async ({ folder, root }: SourceLocation): Promise<readonly string[]> => {
    const folders = await findPolicyFolders(folder, SOURCE_LIMITS)
    // A writer can replace a link between `root` and `folder`, without a change in the previous target.
    return root === undefined ? folders : [...folders, root]
  }
  const listDirs = async (): Promise<readonly string[]> => {
    const policies =
      policySources.length === 0
        ? [await findPolicyFolders(policiesDir)]
        : await Promise.all(policySources.map(listSource))
    return [...policies.flat(), ...files]
  }
  const watch = watchFolders({ ...others, listDirs, onChange: () => reload('watch') })
  return watch.close
}
