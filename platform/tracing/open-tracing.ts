import type { Registry } from 'prom-client'
import type { Logger } from '../logging/logger.ts'
import type { Tracing } from './tracing.ts'
import { createTracingMeter } from './tracing-metrics.ts'
import type { TracingConfig } from './tracing-schema.ts'
import { readTracingSettings } from './tracing-settings.ts'

/**
 * Opens tracing if the configuration or the environment names an OTLP receiver. Otherwise loads no module of
 * OpenTelemetry.
 * @throws {BootError} for an invalid variable.
 */
export async function openTracing(options: {
  readonly config: TracingConfig | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  /** Value of `service.name` if the environment sets no name. */
  readonly serviceName: string
  readonly version: string
  readonly registry: Registry
  readonly logger: Pick<Logger, 'info' | 'warn'>
}): Promise<Tracing | undefined> {
  const meter = createTracingMeter(options.registry)
  const settings = readTracingSettings(options.config, options.env)
  if (settings === undefined) return undefined
  const { startTracing } = await import('./start-tracing.ts')
  return startTracing({ ...options, settings, meter })
}
