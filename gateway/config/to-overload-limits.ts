import type { OverloadLimits } from '../limits/overload/overload-level.ts'
import { DEFAULTS } from './defaults.ts'
import type { OverloadFile } from './overload-file.ts'
import { milliseconds } from './to-numbers.ts'

/** Converts `overload` with its defaults. Percentages become fractions, and durations become milliseconds. */
export function toOverloadLimits(file: OverloadFile | undefined): OverloadLimits {
  const heap = { ...DEFAULTS.overload.heap, ...file?.heap }
  const memory = { ...DEFAULTS.overload.memory, ...file?.memory }
  const loop = { ...DEFAULTS.overload.loopDelay, ...file?.loopDelay }
  return {
    heap: { close: heap.close / 100, refuse: heap.refuse / 100 },
    memory: { close: memory.close / 100, refuse: memory.refuse / 100 },
    loop: { close: milliseconds(loop.close), refuse: milliseconds(loop.refuse) },
  }
}
