/** Limits concurrent work. Further callers wait in a first-in, first-out queue of limited length. */
export type Semaphore = {
  readonly working: number
  readonly waiting: number
  /**
   * Resolves when the caller may begin. Afterward, the caller must call {@link end}. Undefined: the queue is full.
   * @throws the reason of the signal, by rejection, when the signal aborts before the caller may begin. The caller must
   * then not call {@link end}.
   */
  take(signal: AbortSignal): Promise<void> | undefined
  end(): void
}

/** Creates a semaphore. `atOnce` is at least 1; `waiting` may be 0. */
export function createSemaphore(limits: { readonly atOnce: number; readonly waiting: number }): Semaphore {
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
    take(signal) {
      if (working < limits.atOnce) {
        working += 1
        return Promise.resolve()
      }
      return waiting.size < limits.waiting ? wait(signal) : undefined
    },
    end() {
      const [next] = waiting
      if (next === undefined) {
        working -= 1
        return
      }
      // The next caller takes the place of this caller, so `working` does not change.
      waiting.delete(next)
      next()
    },
  }
}
