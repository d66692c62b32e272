import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { collectGarbage } from './collect-garbage.ts'

export type HeapUse = {
  /** Of what the heap may hold, what is in use; 1 is the end of the process. */
  ratio(): number
  close(): void
}

const MEBIBYTE = 1_024 * 1_024
/** Of the limit that V8 tells, the part that is for young objects, unless somebody says otherwise. Bytes. */
const YOUNG_BYTES = 192 * MEBIBYTE
/** With more than that in use, it has to be known how much of it is garbage. */
const KNOW_FROM = 0.7
/** It is found out by a collection, at most so often. Milliseconds. */
const KNOW_EVERY_MS = 1_000

/**
 * Watches how full the old part of the heap is, whose end is the end of the process. What counts is what was left after the
 * last full collection, because a healthy process lets garbage grow up to the limit before it collects; near the limit it is
 * made to collect, at most once a second.
 */
export function watchHeap(tickMs: () => number): HeapUse {
  const limitBytes = oldLimitBytes()
  let liveBytes = Number.POSITIVE_INFINITY
  let knownAtMs = Number.NEGATIVE_INFINITY
  const know = (): void => {
    liveBytes = oldBytes()
    knownAtMs = tickMs()
  }
  const collections = new PerformanceObserver((list) => {
    if (list.getEntries().some(isFull)) know()
  })
  collections.observe({ entryTypes: ['gc'] })
  return {
    ratio() {
      const bytes = oldBytes()
      if (bytes <= KNOW_FROM * limitBytes) return Math.min(bytes, liveBytes) / limitBytes
      // Who fills the rest of the heap in so short a time will fill it again.
      if (tickMs() - knownAtMs < KNOW_EVERY_MS) return bytes / limitBytes
      collectGarbage()
      know()
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

/** What `--max-old-space-size` says, else what V8 chose. */
function oldLimitBytes(): number {
  const options = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  const given = /--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(options)?.[1]
  return given === undefined ? getHeapStatistics().heap_size_limit - YOUNG_BYTES : Number(given) * MEBIBYTE
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind?: number } }
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
