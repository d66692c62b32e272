import { createSecureContext } from 'node:tls'
import type { Registry } from 'prom-client'
import { readSecretText } from '../config/read-secret-file.ts'
import { errorCode } from '../diagnostics/error-code.ts'
import type { Logger } from '../logging/logger.ts'
import { pemCertificates } from '../net/pem-certificates.ts'
import type { Tracing } from './tracing.ts'
import { createTracingMeter } from './tracing-metrics.ts'
import type { TracingConfig } from './tracing-schema.ts'
import {
  readTracingSettings,
  type TracingTls,
  type TracingTlsFile,
  unusableFile,
} from './tracing-settings.ts'

/**
 * Opens tracing if the configuration or the environment names an OTLP receiver. Otherwise loads no module of
 * OpenTelemetry.
 * @throws {BootError} for an invalid variable, and for an unusable file of a variable.
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
  const tls = await readTlsFiles(settings.tlsFiles)
  return startTracing({ ...options, settings, tls, meter })
}

async function readTlsFiles(files: readonly TracingTlsFile[]): Promise<TracingTls> {
  const tls: Partial<Record<TracingTlsFile['option'], string>> = {}
  for (const one of files) {
    const text = await readSecretText(one.file).catch((error: unknown) => {
      throw unusableFile(one, `cannot be read (${errorCode(error)})`)
    })
    // OpenSSL ignores a CA file without certificates.
    if (one.option === 'ca' && pemCertificates(text).length === 0)
      throw unusableFile(one, 'contains no certificate')
    tls[one.option] = text
    try {
      createSecureContext(tls)
    } catch (error) {
      throw unusableFile(one, `is not usable (${errorCode(error)})`)
    }
  }
  return tls
}
