import { Type } from '../diagnostics/schema/schema-builder.ts'
import { HttpAddress } from '../diagnostics/schema/value-schemas.ts'

/** When a service continues the trace of an incoming `traceparent` header. */
export type TraceTrust = 'trusted-proxies' | 'always' | 'never'

/** The section `tracing` of a configuration file. */
export type TracingConfig = {
  readonly endpoint?: string
  readonly sampleRatio?: number
  readonly trustIncoming?: TraceTrust
}

/** @param trust accepted values of `trustIncoming`. */
export const TracingSchema = <Trust extends TraceTrust>(trust: Trust[], trustDescription: string) =>
  Type.Object(
    {
      endpoint: Type.Optional(
        HttpAddress(
          'base URL of an OTLP receiver such as http://otel-collector:4318; spans go to /v1/traces',
        ),
      ),
      sampleRatio: Type.Optional(
        Type.Number({
          description: 'share of the new traces that are recorded, from 0 to 1; default: 1',
          minimum: 0,
          maximum: 1,
        }),
      ),
      trustIncoming: Type.Optional(Type.Enum(trust, { description: trustDescription })),
    },
    { description: 'OpenTelemetry traces' },
  )
