import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that can pause wherever it yields. */
export type Steps<T> = Generator<void, T, void>

/** Long enough to get something done, short enough that nobody waits for it noticeably. Milliseconds. */
const SLICE_MS = 4

/** Does all of it without a pause. */
export function runSync<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Does it in slices of some milliseconds, with a turn of the event loop between them, so that requests are served meanwhile.
 * A slice is as long as its longest step at least.
 */
export async function runSliced<T>(steps: Steps<T>, tickMs = () => performance.now()): Promise<T> {
  for (;;) {
    const endMs = tickMs() + SLICE_MS
    do {
      const { done, value } = steps.next()
      if (done === true) return value
    } while (tickMs() < endMs)
    await nextTurn()
  }
}
