/** Limits concurrent work. Further work waits in a first-in, first-out queue of limited length. */
export type Semaphore = {
  readonly working: number
  readonly waiting: number
  /**
   * Runs the work when a slot is free. The slot is free again when the promise of the work settles.
   * @returns undefined if the queue is full: the work does not run.
   * @throws the reason of the signal, by rejection, when the signal aborts while the work waits. The work then does not
   * run.
   */
  run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> | undefined
}

/** Creates a semaphore. `maxConcurrent` is at least 1; `maxQueue` may be 0. */
export function createSemaphore(limits: {
  readonly maxConcurrent: number
  readonly maxQueue: number
}): Semaphore {
  const queue = new Set<() => void>()
  let working = 0

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        queue.delete(begin)
        reject(signal?.reason)
      }
      const begin = (): void => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      queue.add(begin)
    })
  }

  async function occupySlot<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      const [next] = queue
      if (next === undefined) working -= 1
      else {
        // The next work takes over this slot, so `working` does not change.
        queue.delete(next)
        next()
      }
    }
  }

  return {
    get working() {
      return working
    },
    get waiting() {
      return queue.size
    },
    run(work, signal) {
      if (working < limits.maxConcurrent) {
        working += 1
        return occupySlot(work)
      }
      return queue.size < limits.maxQueue ? waitForSlot(signal).then(() => occupySlot(work)) : undefined
    },
  }
}
