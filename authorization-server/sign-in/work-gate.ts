/** Lets a few through at a time. */
export type WorkGate = {
  /** Runs the work when its turn comes. @returns 'busy', at once, when too many wait already. */
  run<T>(work: () => Promise<T>): Promise<T | 'busy'>
}

/**
 * Bounds password hashing, which takes a core and 19 MiB each time: the rest of the server stays responsive however
 * many sign in at once.
 */
export function createWorkGate(options: { readonly atOnce: number; readonly waiting: number }): WorkGate {
  let running = 0
  const queue: (() => void)[] = []
  return {
    run: async (work) => {
      if (running >= options.atOnce) {
        if (queue.length >= options.waiting) return 'busy'
        await new Promise<void>((resolve) => queue.push(resolve)) // whoever leaves hands over the place
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
