import { totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { watchHeap } from './heap-use.ts'
import type { Pressure } from './overload-level.ts'

/** One measurement of the process. */
export type PressureReading = Pressure & {
  /** Longest event loop delay since the reading before the previous one. Milliseconds. */
  readonly longestDelayMs: number
}

export type PressureReader = { read(): PressureReading; close(): void }

/** Sampling interval of the event loop delay. Milliseconds. */
const RESOLUTION_MS = 20
const NANOSECONDS_PER_MS = 1_000_000

/**
 * Creates a reader of heap use, container memory and event loop delay.
 * @param options.processes number of processes that share the container's memory.
 */
export function createPressureReader(options: {
  readonly processes: number
  readonly tickMs: () => number
}): PressureReader {
  // A histogram misses the first iteration after its reset. Two histograms alternate, so each is reset at every second
  // reading.
  const delays = [createHistogram(), createHistogram()] as const
  let readings = 0
  const heap = watchHeap(options.tickMs)
  const limitBytes = containerLimit() / options.processes

  return {
    read() {
      const histogram = delays[readings % 2 === 0 ? 0 : 1]
      readings += 1
      const reading = {
        heap: heap.ratio(),
        memory: process.memoryUsage.rss() / limitBytes,
        loop: late(histogram.mean),
        longestDelayMs: late(histogram.max),
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

function createHistogram(): ReturnType<typeof monitorEventLoopDelay> {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return histogram
}

/**
 * Converts a measured interval into a delay. Without delay, the interval is `RESOLUTION_MS`. Without samples, the
 * interval is NaN.
 */
function late(nanoseconds: number): number {
  if (Number.isNaN(nanoseconds)) return 0
  return Math.max(0, nanoseconds / NANOSECONDS_PER_MS - RESOLUTION_MS)
}

/** Returns the memory limit in bytes. Returns Infinity if no container limits the process. */
function containerLimit(): number {
  const bytes = process.constrainedMemory()
  return bytes > 0 && bytes < totalmem() ? bytes : Number.POSITIVE_INFINITY
}
