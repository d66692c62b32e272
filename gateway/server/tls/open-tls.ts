import type { Registry } from 'prom-client'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { TlsConfig } from '../../config/gateway-config.ts'
import { createTlsMetrics } from '../../observability/tls-metrics.ts'
import { type CertificateSource, openCertificateSource } from './certificate-source.ts'
import type { TlsOptions } from './tls-server.ts'

/**
 * Opens the options of a TLS listener: the certificate and its metrics. The certificate is reloaded when its files
 * change, until `close()`.
 * @throws {ConfigError} C320 when the certificate is not usable.
 */
export function openTls(options: {
  readonly config: TlsConfig
  readonly registry: Registry
  readonly nowMs: () => number
  readonly logger: Logger
}): TlsOptions & { close(): void } {
  const { config, registry, nowMs, logger } = options
  const certificate: CertificateSource = openCertificateSource({
    files: config,
    nowMs,
    logger,
    onReload: (result) => meter.reloaded(result),
  })
  const meter = createTlsMetrics(registry, () => certificate.current)
  return {
    certificate,
    minVersion: config.minVersion,
    clientCertificates: config.clientCertificates,
    onHandshakeFailure: meter.handshakeFailed,
    onHttp2Failure: meter.http2ConnectionFailed,
    close: certificate.close,
  }
}
