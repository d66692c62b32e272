/** Lets so many work at once and so many wait, in the order in which they came. */
export type Semaphore = {
  readonly working: number
  readonly waiting: number
  /**
   * Resolves when it is one's turn, which ends with {@link end}. Undefined: too many wait already.
   * @throws by the promise, the signal's reason: the turn did not come in time, and nothing is to be ended.
   */
  take(signal: AbortSignal): Promise<void> | undefined
  end(): void
}

/** `atOnce` is at least 1; `waiting` may be 0. */
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
      // The turn is passed on: as many work as before.
      waiting.delete(next)
      next()
    },
  }
}
