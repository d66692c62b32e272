import Type from 'typebox'
import { DurationText } from '../../platform/diagnostics/schema/value-schemas.ts'

export const OverloadFile = Type.Object(
  {
    heap: Type.Optional(percentages("of the JavaScript heap's limit, what is in use")),
    memory: Type.Optional(percentages("of the container's memory limit, what is in use")),
    loopDelay: Type.Optional(
      Type.Object(
        {
          close: Type.Optional(DurationText('from here on connections end with their answers')),
          refuse: Type.Optional(DurationText('from here on requests are refused')),
        },
        { description: 'how late a turn of the event loop comes, on average' },
      ),
    ),
  },
  { description: 'when the gateway has too much to do' },
)

export type OverloadFile = Type.Static<typeof OverloadFile>

function percentages(description: string) {
  return Type.Object(
    {
      close: Type.Optional(percentage('per cent from which on connections end with their answers')),
      refuse: Type.Optional(percentage('per cent from which on requests are refused')),
    },
    { description },
  )
}

function percentage(description: string) {
  return Type.Integer({ description, minimum: 1, maximum: 100 })
}
