/** Limits concurrent work. Further callers wait in a first-in, first-out queue of limited length. */
export type Semaphore = {
  readonly working: number
  readonly waiting: number
  /**
   * Resolves when the caller may begin. Afterward, the caller must call {@link release}. Undefined: the queue is full.
   * @throws the reason of the signal, by rejection, when the signal aborts before the caller may begin. The caller must
   * then not call {@link release}.
   */
  acquire(signal: AbortSignal): Promise<void> | undefined
  release(): void
}

/** Creates a semaphore. `maxConcurrent` is at least 1; `maxQueue` may be 0. */
export function createSemaphore(limits: {
  readonly maxConcurrent: number
  readonly maxQueue: number
}): Semaphore {
  const waiting = new Set<() => void>()
  let working = 0

  function wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiting.delete(begin)
        reject(signal.reason)
      }
      const begin = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      waiting.add(begin)
    })
  }

  return {
    get working() {
      return working
    },
    get waiting() {
      return waiting.size
    },
    acquire(signal) {
      if (working < limits.maxConcurrent) {
        working += 1
        return Promise.resolve()
      }
      return waiting.size < limits.maxQueue ? wait(signal) : undefined
    },
    release() {
      const [next] = waiting
      if (next === undefined) {
        working -= 1
        return
      }
      // The next caller takes the slot of this caller, so `working` does not change.
      waiting.delete(next)
      next()
    },
  }
}
