import { totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { watchHeap } from './heap-use.ts'
import type { Pressure } from './overload-level.ts'

/** One look at the process. */
export type PressureReading = Pressure & {
  /** The latest that a turn of the event loop came in the last two looks. Milliseconds. */
  readonly longestTurnMs: number
}

export type PressureReader = { read(): PressureReading; close(): void }

/** The event loop is asked so often whether it turns. Milliseconds. */
const RESOLUTION_MS = 20
const NANOSECONDS_PER_MS = 1_000_000

/**
 * Looks at the heap, at the container's memory and at the event loop.
 * @param options.processes that share the container's memory.
 */
export function createPressureReader(options: {
  readonly processes: number
  readonly tickMs: () => number
}): PressureReader {
  // A histogram does not see the turn after its reset, so there are two, each reset at every other look.
  const delays = [aHistogram(), aHistogram()] as const
  let looks = 0
  const heap = watchHeap(options.tickMs)
  const limitBytes = containerLimit() / options.processes

  return {
    read() {
      const histogram = delays[looks % 2 === 0 ? 0 : 1]
      looks += 1
      const reading = {
        heap: heap.ratio(),
        memory: process.memoryUsage.rss() / limitBytes,
        loop: late(histogram.mean),
        longestTurnMs: late(histogram.max),
      }
      histogram.reset()
      return reading
    },
    close() {
      for (const histogram of delays) histogram.disable()
      heap.close()
    },
  }
}

function aHistogram(): ReturnType<typeof monitorEventLoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return histogram
}

/** What is measured is the time between two turns that should lie `RESOLUTION_MS` apart; NaN when there were none. */
function late(nanoseconds: number): number {
  if (Number.isNaN(nanoseconds)) return 0
  return Math.max(0, nanoseconds / NANOSECONDS_PER_MS - RESOLUTION_MS)
}

/** Bytes; endless where no container limits the process. */
function containerLimit(): number {
  const bytes = process.constrainedMemory()
  return bytes > 0 && bytes < totalmem() ? bytes : Number.POSITIVE_INFINITY
}
