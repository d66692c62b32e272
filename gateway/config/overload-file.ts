import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { DurationText } from '../../platform/diagnostics/schema/value-schemas.ts'
import type { OverloadLimits } from '../limits/overload/overload-level.ts'
import { DEFAULTS } from './defaults.ts'
import { milliseconds } from './to-numbers.ts'

export const OverloadFile = Type.Object(
  {
    heap: Type.Optional(percentages('used percentage of the JavaScript heap limit')),
    memory: Type.Optional(percentages('used percentage of the memory limit of the container')),
    loopDelay: Type.Optional(
      Type.Object(
        {
          close: Type.Optional(DurationText('delay from which connections close after each response')),
          refuse: Type.Optional(DurationText('delay from which requests are rejected')),
        },
        { description: 'average delay of an event loop iteration' },
      ),
    ),
  },
  { description: 'overload thresholds' },
)

export type OverloadFile = Static<typeof OverloadFile>

function percentages(description: string) {
  return Type.Object(
    {
      close: Type.Optional(percentage('percentage from which connections close after each response')),
      refuse: Type.Optional(percentage('percentage from which requests are rejected')),
    },
    { description },
  )
}

function percentage(description: string) {
  return Type.Integer({ description, minimum: 1, maximum: 100 })
}

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
