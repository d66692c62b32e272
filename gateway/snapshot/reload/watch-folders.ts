import { type FSWatcher, type WatchListener, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { errorCode } from '../../../platform/diagnostics/yaml/text-source.ts'
import type { Logger } from '../../../platform/logging/logger.ts'

/** A watch that looks until it is closed. */
export type FolderWatch = { close(): void }

/** What is watched, and who hears of it. Times are in milliseconds. */
export type FolderWatchOptions = {
  /** Lists the folders to watch; called at each look, because nested folders come and go. */
  readonly listDirs: () => readonly string[]
  /** Something may have changed. Called again when the answer is there and something has happened meanwhile. */
  readonly onChange: () => Promise<unknown>
  readonly logger: Logger
  readonly watch?: (
    dir: string,
    options: { persistent: boolean },
    listener: WatchListener<string>,
  ) => FSWatcher
  readonly quietMs?: number
  readonly lookEveryMs?: number
  readonly missingEveryMs?: number
}

/** Whoever writes several files, or one in several goes, is not interrupted. Milliseconds. */
const QUIET_MS = 200
/** However busy a folder is, it is looked at this often. Milliseconds. */
const LONGEST_WAIT_MS = 2_000
/** Some file systems tell nobody what happens in them. Milliseconds. */
const LOOK_EVERY_MS = 30_000
/** A folder that is gone is looked for this often. Milliseconds. */
const MISSING_EVERY_MS = 1_000

type Watched = { readonly watcher: FSWatcher; readonly identity: string }

/**
 * Watches folders, never single files: those are replaced. Where the system gives no watch, the regular look has to do, and
 * the log says so once. A folder that is deleted is watched again when it is back.
 */
export function watchFolders(options: FolderWatchOptions): FolderWatch {
  const { onChange, logger, quietMs = QUIET_MS, lookEveryMs = LOOK_EVERY_MS } = options
  const watched = new Map<string, Watched>()
  let quiet: NodeJS.Timeout | undefined
  let touchedSinceMs: number | undefined
  let missing: NodeJS.Timeout | undefined
  let told = false
  let closed = false
  let looking: Promise<void> = Promise.resolve()

  function touched(): void {
    if (closed) return
    const nowMs = performance.now()
    touchedSinceMs ??= nowMs
    clearTimeout(quiet)
    const leftMs = Math.max(0, touchedSinceMs + LONGEST_WAIT_MS - nowMs)
    quiet = setTimeout(look, Math.min(quietMs, leftMs)).unref()
  }

  function look(): void {
    touchedSinceMs = undefined
    clearTimeout(quiet)
    looking = looking.then(async () => {
      if (closed) return
      await attend()
      await onChange()
    })
  }

  /** Watches what is not watched yet, and what has taken the place of what was. */
  async function attend(): Promise<void> {
    const dirs = new Set(options.listDirs())
    for (const [dir, { watcher }] of watched)
      if (!dirs.has(dir)) {
        watcher.close()
        watched.delete(dir)
      }
    const found = await Promise.all([...dirs].map(attendTo))
    clearTimeout(missing)
    if (closed || found.every((one) => one)) return
    missing = setTimeout(look, options.missingEveryMs ?? MISSING_EVERY_MS).unref()
  }

  async function attendTo(dir: string): Promise<boolean> {
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
        complain(error)
      })
      watched.set(dir, { watcher, identity })
      // What happened between the last look and this watch, nobody has told.
      touched()
    } catch (error) {
      complain(error)
    }
    return true
  }

  function complain(error: unknown): void {
    if (told || errorCode(error) === 'ENOENT') return
    told = true
    logger.warn(
      { event: 'policy_watch_unavailable', reason: errorCode(error), look_every_ms: lookEveryMs },
      'the system does not tell of changed files here; they are looked at regularly instead',
    )
  }

  const timer = setInterval(look, lookEveryMs).unref()
  look()
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

/** undefined: there is no such folder. */
async function identityOf(dir: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(dir)
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
