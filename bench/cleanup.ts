/** Processes and servers of a benchmark, which it must end. */
export type Cleanup = {
  /** Registers how to end something; after `run()` began, it is ended at once. */
  add(end: () => Promise<void> | void): void
  /** Ends everything, the newest first, even when one of them fails: then it rejects at the end. A second call waits for the first. */
  run(): Promise<void>
}

/** Makes an empty list of things to end, so that nothing outlives a benchmark that failed or was interrupted. */
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
