/** Processes and servers that a benchmark must end. */
export type Cleanup = {
  /**
   * Registers a function that ends a process or server. If `run()` has already started, the function runs immediately.
   */
  add(end: () => Promise<void> | void): void
  /**
   * Ends all processes and servers, newest first. If an end fails, ends the other processes and then rejects with the
   * first error. A second call waits for the first call.
   */
  run(): Promise<void>
}

/** A benchmark must call `run()` at its end, so that no process continues to run after a failure or an interruption. */
export function createCleanup(): Cleanup {
  const ends: (() => Promise<void> | void)[] = []
  let running: Promise<void> | undefined

  async function endAll(): Promise<void> {
    const failures: unknown[] = []
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
      try {
        await end()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
  return {
    add: (end) => {
      if (running === undefined) ends.push(end)
      else running = Promise.all([running, end()]).then(() => undefined)
    },
    run: () => {
      running ??= endAll()
      return running
    },
  }
}
