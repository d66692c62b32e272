import { type FSWatcher, watch } from 'node:fs'

const SETTLE_MS = 100 // editors write a file in several steps

/**
 * Runs something now, and again whenever a file in one of the folders that it names changes, until told to end. What
 * changes while it runs makes it run once more.
 */
export async function runOnChange(options: {
  /** Folders to watch from the beginning: what changes there during the first run counts. */
  readonly folders: readonly string[]
  /** @param changed the name of what changed first; undefined for the first run. @returns the folders to watch. */
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

/** A folder that cannot be watched is complained about by what reads it. */
function watchFolder(folder: string, onChange: (name: string) => void): FSWatcher | undefined {
  try {
    return watch(folder, (_, name) => {
      if (name !== null && !name.startsWith('.') && !name.endsWith('~')) onChange(name)
    })
  } catch {
    return undefined
  }
}
