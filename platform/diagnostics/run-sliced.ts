import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that can pause at each `yield`. */
export type Steps<T> = Generator<void, T, void>

/**
 * Longest time in milliseconds that a slice blocks the event loop. The work still makes progress, and requests wait
 * only a short time.
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
