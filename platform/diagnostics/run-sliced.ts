import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that can pause at each `yield`. */
export type Steps<T> = Generator<void, T, void>

/**
 * Time after which a slice ends at the next `yield`. The time is short, because requests wait during a slice.
 * Milliseconds.
 */
const SLICE_MS = 4

/** Runs all steps without a pause. */
export function runSync<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * Runs the steps in slices of some milliseconds. Between slices, the event loop handles requests.
 * A slice takes at least as long as its longest step.
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
