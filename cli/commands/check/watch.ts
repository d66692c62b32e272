import { type FSWatcher, watch } from 'node:fs'

const SETTLE_MS = 100 // wait before a run, because editors write a file in several steps

/**
 * Calls `run` immediately, and again whenever a file in a watched folder changes, until `end` aborts. A change during a
 * run causes another run.
 */
export async function runOnChange(options: {
  /** Folders to watch before the first run, so that a change during the first run causes another run. */
  readonly folders: readonly string[]
  /**
   * @param changed name of the first changed file; undefined for the first run.
   * @returns the folders to watch.
   */
  readonly run: (changed: string | undefined) => Promise<readonly string[]>
  readonly end: AbortSignal
}): Promise<void> {
  const { run, end } = options
  const watchers = new Map<string, FSWatcher>()
  let changed: string | undefined
  let wake = () => {}
  const watchAlso = (folder: string) => {
    if (watchers.has(folder)) return
    const watcher = watchFolder(folder, (name) => {
      changed ??= name
      wake()
    })
    if (watcher === undefined) return
    watchers.set(folder, watcher)
    watcher.on('error', () => {
      watcher.close()
      watchers.delete(folder)
    })
  }
  const ended = new Promise<void>((resolve) => end.addEventListener('abort', () => resolve(), { once: true }))
  try {
    for (const folder of options.folders) watchAlso(folder)
    while (!end.aborted) {
      const first = changed
      changed = undefined
      for (const folder of await run(first)) watchAlso(folder)
      if (changed === undefined)
        await Promise.race([
          ended,
          new Promise<void>((resolve) => {
            wake = resolve
          }),
        ])
      await Promise.race([ended, settle()])
    }
  } finally {
    for (const one of watchers.values()) one.close()
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
}

/**
 * Watches a folder, without hidden files and backup files (`~`). Returns undefined if the folder cannot be watched: the
 * check itself then reports the unreadable folder.
 */
function watchFolder(folder: string, onChange: (name: string) => void): FSWatcher | undefined {
  try {
    return watch(folder, (_, name) => {
      if (name !== null && !name.startsWith('.') && !name.endsWith('~')) onChange(name)
    })
  } catch {
    return undefined
  }
}
