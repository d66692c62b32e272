import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type HeapUse = {
  /** Returns the used part of the limit of the old generation. At 1, V8 ends the process. */
  ratio(): number
  close(): void
}

const MEBIBYTE = 1_024 * 1_024
/** Default size of the young generation, which is part of the heap limit that V8 reports. Bytes. */
const YOUNG_BYTES = 192 * MEBIBYTE
/** Above this ratio, `ratio()` forces a collection, because the used memory also includes garbage. */
const MEASURE_ABOVE = 0.7
/** Shortest time between two forced collections. Milliseconds. */
const MEASURE_EVERY_MS = 1_000

/**
 * Measures how full the old generation of the heap is. When the old generation is full, V8 ends the process. The
 * function uses the bytes after the last full collection, because garbage can also fill the heap of a healthy process.
 * Near the limit, the function forces a collection at most once per second.
 */
export function watchHeap(tickMs: () => number): HeapUse {
  const limitBytes = oldLimitBytes()
  let liveBytes = Number.POSITIVE_INFINITY
  let measuredAtMs = Number.NEGATIVE_INFINITY
  const measure = (): void => {
    liveBytes = oldBytes()
    measuredAtMs = tickMs()
  }
  const collections = new PerformanceObserver((list) => {
    if (list.getEntries().some(isFull)) measure()
  })
  collections.observe({ entryTypes: ['gc'] })
  return {
    ratio() {
      const bytes = oldBytes()
      if (bytes <= MEASURE_ABOVE * limitBytes) return Math.min(bytes, liveBytes) / limitBytes
      // If the ratio is above `MEASURE_ABOVE` again within a second after a collection, another collection would not
      // help.
      if (tickMs() - measuredAtMs < MEASURE_EVERY_MS) return bytes / limitBytes
      collectGarbage()
      measure()
      return liveBytes / limitBytes
    },
    close: () => collections.disconnect(),
  }
}

function oldBytes(): number {
  let bytes = 0
  for (const space of getHeapSpaceStatistics())
    if (!space.space_name.startsWith('new_')) bytes += space.space_used_size
  return bytes
}

/** Returns the limit from `--max-old-space-size`, or else the limit that V8 chose. */
function oldLimitBytes(): number {
  const options = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  const given = /--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(options)?.[1]
  return given === undefined ? getHeapStatistics().heap_size_limit - YOUNG_BYTES : Number(given) * MEBIBYTE
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } }
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

let collect: (() => void) | undefined

/**
 * Forces a full garbage collection, which takes tens of milliseconds. A process that rejects requests produces too
 * little garbage to trigger a collection in V8. Without a forced collection, the process could not detect that memory
 * is available again.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
