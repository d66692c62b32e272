/** A semaphore with a bounded queue. */
export type Semaphore = {
  /**
   * Runs the work as soon as a slot is free.
   * @returns 'busy' immediately when the queue is full.
   */
  run<T>(work: () => Promise<T>): Promise<T | 'busy'>
}

/**
 * Creates a semaphore for password hashing.
 * Each hash takes one core and 19 MiB. The limit keeps the server responsive when many people sign in concurrently.
 */
export function createSemaphore(options: {
  readonly maxConcurrent: number
  readonly maxQueue: number
}): Semaphore {
  let running = 0
  const queue: (() => void)[] = []
  return {
    run: async (work) => {
      if (running >= options.maxConcurrent) {
        if (queue.length >= options.maxQueue) return 'busy'
        await new Promise<void>((resolve) => queue.push(resolve)) // takes over a slot: `running` is unchanged
      } else {
        running += 1
      }
      try {
        return await work()
      } finally {
        const next = queue.shift()
        if (next === undefined) running -= 1
        else next()
      }
    },
  }
}
