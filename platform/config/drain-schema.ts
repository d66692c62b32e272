import { Type } from '../diagnostics/schema/schema-builder.ts'
import { TimeoutText } from '../diagnostics/schema/value-schemas.ts'

export const DrainSchema = Type.Object(
  {
    delay: Type.Optional(
      Type.String({
        description:
          'time in which the service accepts new connections after readiness fails; use 0s without a load balancer',
        pattern: '^([0-9]|[1-5][0-9])s$',
        'x-is': 'a number of seconds from 0s to 59s',
      }),
    ),
    grace: Type.Optional(TimeoutText('time until the service closes open connections, delay included')),
  },
  { description: 'graceful shutdown' },
)

export const DRAIN_DEFAULTS = { delay: '5s', grace: '20s' } as const

/** Graceful shutdown of a service. `graceMs` counts from the signal and includes `delayMs`. */
export type DrainConfig = { readonly delayMs: number; readonly graceMs: number }
